// One leaf, computed by a team of threads in memory of fixed size: compress() of compression.hpp, for cross approximation with
// references. What it cannot do there - more terms than there is room for, entries that are not finite, a tolerance that is
// missed again and again - is told, and left to compress().
#pragma once
#include "sordino/hmatrix/team_crosses.hpp"
#include "sordino/hmatrix/team_recompression.hpp"

namespace sordino::hmatrix {

inline constexpr i32 left_to_the_host = -2, out_of_room = -3;  // in the place of a rank

/// What is asked of a leaf.
struct LeafTask {
  i32 first_row, rows, first_column, columns;  // of the matrix, in the tree's order
  i32 terms;                                   // that its workspace has room for; 0: it is dense
  i32 most_rank;
  i64 space;  // where its workspace begins, in values
  u64 draws;  // what the entries that are compared depend on
};

struct LeafResult {
  i32 rank;  // -1: dense
  i32 redone;
  double norm_squared;
};

/// The entries of a task's block. Entries: entry(i, j) of the matrix, in the tree's order.
template <class Entries>
struct TaskBlock {
  const Entries& entries;
  const LeafTask& task;

  SORDINO_HD auto entry(i32 i, i32 j) const { return entries.entry(task.first_row + i, task.first_column + j); }
};

template <class Team, class Block, class V>
class TeamCompression {
 public:
  SORDINO_HD TeamCompression(const Team& team, const Block& block, const LeafSpace<V>& space, const LeafTask& task,
                             const CompressionOptions& options)
      : team_(team), block_(block), s_(space), task_(task), o_(options), crosses_(team, block, space, most_rank()) {}

  /// Terms in u and v of the workspace.
  SORDINO_HD LeafResult run() {
    const double asked = o_.recompress || o_.certify ? share_of_crosses * o_.eps : o_.eps;
    if (!added(o_.recompress || o_.certify ? stop_rule_to_error * asked : asked, -1)) return unable();
    double norm_squared = sum_squared(), eps = asked;
    int redone = 0;
    for (; o_.certify && crosses_.rank < o_.most_rank; redone++) {
      const Comparison entries(s_.height, s_.width, crosses_.pivots(), draws_of(task_.draws, redone));
      const double error_squared = compare(entries);
      if (!(error_squared + norm_squared < infinite)) return unable();
      if (error_squared <= asked * asked * norm_squared) break;
      if (redone == most_tries) return unable();
      eps *= after_a_miss;
      if (!added(eps, worst_row(entries))) return unable();
      norm_squared = sum_squared();
    }
    if (!(norm_squared < infinite)) return unable();
    if (!o_.recompress || crosses_.rank == 0) return {crosses_.rank, redone, norm_squared};
    const TeamRecompression<Team, V> terms(team_, s_, crosses_.rank);
    const i32 left = terms.run(share_of_the_rest * o_.eps * sqrt(norm_squared));
    double left_squared = 0;
    for (i32 k = 0; k < left; k++) left_squared += s_.squares[s_.order[k]];
    return {left, redone, left_squared};
  }

 private:
  using Crosses = TeamCrosses<Team, Block, V>;
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  static constexpr int most_tries = 1;  // after a miss: what misses again is computed from all its entries

  SORDINO_HD i32 most_rank() const {
    const i32 smaller = s_.height < s_.width ? s_.height : s_.width;
    return task_.most_rank < smaller ? task_.most_rank : smaller;
  }
  SORDINO_HD LeafResult unable() const { return {end_ == Crosses::End::no_room ? out_of_room : left_to_the_host, 0, 0}; }
  SORDINO_HD bool added(double eps, i32 first_row) {
    end_ = crosses_.run(eps, first_row);
    return end_ == Crosses::End::enough;
  }

  /// The square of the sum's Frobenius norm.
  [[gnu::noinline]] SORDINO_HD double sum_squared() const {
    const i32 rank = crosses_.rank;
    double* pairs = words(s_.core);  // [rank][rank]
    team_.share(rank * rank, [&](i32 e, const auto& some) {
      const i32 k = e / rank, l = e % rank;
      double share = 0;
      if (l <= k) {
        const V uu = product(some, s_.u_of(k), s_.u_of(l), s_.height), vv = product(some, s_.v_of(k), s_.v_of(l), s_.width);
        share = (k == l ? 1 : 2) * real_part(uu * vv);
      }
      some.each(1, [&](i32) { pairs[e] = share; });
    });
    return team_.total(rank * rank, [&](i32 e) { return pairs[e]; });
  }

  /// The square of what the sum is off by there.
  [[gnu::noinline]] SORDINO_HD double off_squared(const Comparison& entries, i32 k) const {
    const auto [i, j] = entries.at(k);
    return squared(block_.entry(i, j) - s_.entry(i, j, crosses_.rank));
  }
  /// The square of the error's norm, known or estimated.
  SORDINO_HD double compare(const Comparison& entries) const {
    return entries.scale() * team_.total(i32(entries.count()), [&](i32 k) { return off_squared(entries, k); });
  }
  /// The row of the entry that is off most.
  SORDINO_HD i32 worst_row(const Comparison& entries) const {
    const i32 worst = team_.best(i32(entries.count()), [&](i32 k) { return off_squared(entries, k); });
    return entries.at(worst).row;
  }

  const Team& team_;
  const Block& block_;
  const LeafSpace<V>& s_;
  const LeafTask& task_;
  const CompressionOptions& o_;
  Crosses crosses_;
  typename Crosses::End end_ = Crosses::End::enough;
};

/// Computes a leaf in the workspace that begins at `space`: its terms, or all entries, row by row.
template <class Team, class Entries, class V>
SORDINO_HD LeafResult compute_leaf(const Team& team, const Entries& entries, const LeafTask& task,
                                   const CompressionOptions& options, V* space) {
  const TaskBlock<Entries> block{entries, task};
  if (task.terms > 0) {
    const LeafSpace<V> parts(space, task.rows, task.columns, task.terms);
    return TeamCompression<Team, TaskBlock<Entries>, V>(team, block, parts, task, options).run();
  }
  const i32 all = task.rows * task.columns;
  team.each(all, [&](i32 e) { space[e] = block.entry(e / task.columns, e % task.columns); });
  const double square = team.total(all, [&](i32 e) { return squared(space[e]); });
  return {square < std::numeric_limits<double>::infinity() ? -1 : left_to_the_host, 0, square};
}

/// Copies a leaf from its workspace to where a matrix keeps it: U row by row, and behind it V^T; or all entries.
template <class Team, class V>
SORDINO_HD void pack_leaf(const Team& team, const LeafTask& task, i32 rank, const V* space, V* to) {
  if (rank == -1) return team.each(task.rows * task.columns, [&](i32 e) { to[e] = space[e]; });
  const V* v = space + i64(task.terms) * task.rows;
  V* v_to = to + i64(task.rows) * rank;
  team.each(task.rows * rank, [&](i32 e) { to[e] = space[i64(e % rank) * task.rows + e / rank]; });
  team.each(task.columns * rank, [&](i32 e) { v_to[e] = v[e]; });
}

}  // namespace sordino::hmatrix
