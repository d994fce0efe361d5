// Rows that choose partners in any order, or at the same time, and get those that they would get one after the other.
//
// A row waits for those before it that may take it, or the one that it would take. Then nobody who comes later can take either:
// they would wait for this row. What lies between rows that wait for each other is the level's longest chain of such rows, some
// hundreds on a grid of 256^3; it may be all rows where each couples with the next one alone.
#pragma once
#include "sordino/precond/aggregate_rules.hpp"

namespace sordino::aggregates {

constexpr i32 pending = -3;  // of a row that has not chosen yet, and that nobody has chosen

/// Of one row. A state is a row of a pair, `unpaired`, `outside`, or `pending`. Entries and their mirrors say the same of who
/// may be a pair.
///
/// States: `i32 seen(row)`; `void take(j, row)`: j is a pair with this row; `void settle(row, state)`: this row has chosen, and
/// who sees that sees what was taken before, if `fence()` comes between.
struct Choosing {
  i64 row;
  OneRanks rank;
  i32 waits_for = -1;

  /// Whether it has chosen, or has been chosen. Does not wait: to be asked again.
  template <class States>
  SORDINO_HD bool is_done(const Rule& rule, const States& states) {
    if (waits_for >= 0 && states.seen(waits_for) == pending) return states.seen(row) != pending;
    if (waits(rule, states, row)) return false;
    if (states.seen(row) != pending) return true;
    while (true) {
      const i32 j = rule.partner(row, rank, [&](i32 other) { return states.seen(other) == pending; });
      if (j >= 0 && waits(rule, states, j)) return false;
      if (j >= 0 && states.seen(j) != pending) continue;  // taken meanwhile
      if (j >= 0) states.take(j, row);
      states.settle(row, j >= 0 ? i32(row) : unpaired);
      return true;
    }
  }

 private:
  /// For a row before this one that may take `target`, and has not chosen. If for none, what they have taken is seen.
  template <class States>
  SORDINO_HD bool waits(const Rule& rule, const States& states, i64 target) {
    waits_for = -1;
    for (i64 k = rule.A.begins[target]; k < rule.A.begins[target + 1] && rule.A.columns[k] < row; k++) {
      const i32 other = rule.A.columns[k];
      if (!rule.may_pair(target, other, -rule.A.values[k], rank) || states.seen(other) != pending) continue;
      waits_for = other;
      return true;
    }
    states.fence();
    return false;
  }
};

/// Whom rows join that are left when all have chosen: one after the other, but for those that are joined before it is their
/// turn, which are by themselves, and join nobody.
struct Joining {
  const i32* states;  // [rows]
  const i32* joins;   // [rows] of a row that is left, whom it would join, or -1; of others -1

  /// A row behind i that is left, too, and that i joins if it joins anybody; -1: there is none.
  SORDINO_HD i32 roots_perhaps(i64 i) const {
    const i32 j = joins[i];
    return j > i && states[j] == unpaired ? j : -1;
  }
  /// Tells, of a row of which it is known whether it is joined before its turn, the others that hang on it.
  ///
  /// Roots: `bool is_rooted(row)`, `void root(row)`, and `bool is_last(row)`: whether this is the last one that it hangs on.
  template <class Roots>
  SORDINO_HD void tell(i64 i, const Roots& roots) const {
    for (i32 j; (j = roots_perhaps(i)) >= 0; i = j) {
      if (!roots.is_rooted(i)) roots.root(j);
      if (!roots.is_last(j)) return;
    }
  }

  /// A row of row i's aggregate, or `outside`. `rooted`: [rows] what Roots found. Couplings grow fourfold and more from one
  /// that is left to the one that it joins, for else they would be a pair: so there are few to follow.
  SORDINO_HD i32 aggregate_of(const Rule& rule, const i32* rooted, Lonely lonely, i64 i) const {
    while (states[i] == unpaired && !rooted[i]) {
      if (joins[i] < 0) return rule.by_itself(i, lonely);
      i = joins[i];
    }
    return states[i] == unpaired ? i32(i) : states[i];
  }
};

}  // namespace sordino::aggregates
