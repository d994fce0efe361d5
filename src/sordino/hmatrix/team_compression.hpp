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
      const double error_squared = sample(u64(redone));
      if (!(error_squared + norm_squared < infinite)) return unable();
      if (error_squared <= asked * asked * norm_squared) break;
      if (redone == most_tries) return unable();
      eps *= after_a_miss;
      if (!added(eps, worst_row(u64(redone)))) return unable();
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

  /// Number `k` of those that a try draws; the same for whoever asks.
  SORDINO_HD i32 drawn(u64 attempt, i32 k, i32 below) const {
    u64 z = task_.draws + (attempt * 2 * checked_entries + u64(k) + 1) * 0x9e3779b97f4a7c15u;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return i32((z ^ (z >> 31)) % u64(below));
  }
  SORDINO_HD i32 drawn_row(u64 attempt, i32 r) const { return drawn(attempt, r, s_.height); }

  /// The square of the error's norm as entries drawn at random show it.
  SORDINO_HD double sample(u64 attempt) const {
    team_.each(checked_entries, [&](i32 e) {
      const i32 i = drawn_row(attempt, e / checked_columns), j = drawn(attempt, checked_rows + e, s_.width);
      s_.sampled[e] = squared(block_.entry(i, j) - s_.entry(i, j, crosses_.rank));
    });
    const double sum = team_.total(checked_entries, [&](i32 e) { return s_.sampled[e]; });
    return sum * (double(s_.height) * s_.width / checked_entries);
  }
  SORDINO_HD i32 worst_row(u64 attempt) const {
    const i32 worst = team_.best(checked_rows, [&](i32 r) {
      double sum = 0;
      for (int c = 0; c < checked_columns; c++) sum += s_.sampled[r * checked_columns + c];
      return sum;
    });
    return drawn_row(attempt, worst < 0 ? 0 : worst);
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
