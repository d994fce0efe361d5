// Rows of a vector go from the ranks that own them by one partition to those that do by another: to coarse levels on fewer
// ranks, and back.
#pragma once
#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/handles.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Where rows that a rank is to have lie in the vector that ranks have sent each other: `held` own rows, and ghosts behind
/// them.
struct MovedPlace {
  i32 begin, end;  // of the rows that it is to have, those that it has
  i32 shift;       // from their number there to that here
  i32 held;

  SORDINO_HD i32 operator()(i32 i) const { return i < begin ? held + i : i < end ? i + shift : held + i - (end - begin); }
};

/// Over rows of those who are to have them: to = from.
struct MoveRows {
  static constexpr const char* name = "Move";
  MovedPlace place;
  Foreign<const double, Access::ghost> from;
  Out to;
  i32 rows;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(from);
    visit(to);
  }
  SORDINO_HD void row(i32 i) { to[i] = from[place(i)]; }
  Cost cost() const { return {8.0 * rows, 0}; }
};

/// Who has rows that others are to have sends them, one message to each; all who do wait for each other. Both partitions are of
/// as many ranks, of which some may have no rows.
class RowMove {
 public:
  /// Of one rank; others have no part in it. Cost: peers^2.
  RowMove(const Partition& from, const Partition& to, int rank);
  RowMove(const RowMove&) = delete;  // vectors know the exchange by its address

  /// A vector by partition `from`, on its space, that can be pushed.
  Vec operand(Rank& rank, const char* name, int from_space) const { return rank.vector(name, from_space, &exchange_); }
  const MovedPlace& place() const { return place_; }
  /// Records y = x on this rank, of a vector on the space of partition `to`. x has been pushed.
  void apply(Rank& rank, int to_space, Vec x, Vec y) const {
    rank.run_over(to_space, MoveRows{place_, x, y, rank.space(to_space).rows});
  }
  /// Rows that a rank gets.
  static i64 ghosts_of(const Partition& from, const Partition& to, int rank);

 private:
  MovedPlace place_;
  Exchange exchange_;
};

}  // namespace sordino
