// A lower triangle kept by rows, for substitution; and which triangles are kept so.
#pragma once
#include "sordino/trsv/factor.hpp"
#include "sordino/trsv/level_rows.hpp"

namespace sordino::trsv {

/// Whether a triangle is better kept by rows than by supernodes: a solve would read more than four times the bytes there.
/// (Rows read 4 bytes more for each entry. Their loads are scattered, and there are more levels than supernodes in a chain:
/// up to that factor dense blocks win nevertheless. ADR 41 has the measurements.)
bool is_better_by_rows(const LowerPattern& pattern, const Elimination& elimination, i64 value_bytes);

/// Memory: a value and 4 B for each entry, a value and 12 B for each row, of each direction that has been prepared. The order
/// of sums depends on the pattern alone.
template <class V>
class LevelFactor {
 public:
  /// The way forward is there then. Cost: linear in the entries, by one thread. Throws as validate() does.
  explicit LevelFactor(const TriangleView<V>& L);
  /// New values of the same pattern. What is refused leaves the old ones.
  void update(const TriangleView<V>& L);
  /// Throws what update() would refuse, and changes nothing.
  void check_update(const TriangleView<V>& L) const;
  /// Makes rows and values of the way back, once.
  void prepare(Direction direction);

  const LevelRows& rows(Direction direction) const { return way(direction).rows; }
  const V* values(Direction direction) const { return way(direction).values.data(); }  // [entries]
  /// Reciprocals, by places: 1 of a triangle with a unit diagonal. [n]
  const V* pivots(Direction direction) const { return way(direction).pivots.data(); }
  i64 entries() const { return forward_.rows.entries() + forward_.rows.n; }  // with the diagonal
  i64 value_bytes() const;                                                   // of what is there
  i64 table_bytes() const;

 private:
  struct Way {
    LevelRows rows;
    std::vector<V> values, pivots;
  };
  const Way& way(Direction direction) const { return direction == Direction::forward ? forward_ : backward_; }
  void fill_forward(const TriangleView<V>& L);
  void fill_backward();

  Way forward_, backward_;
  u64 print_ = 0;  // of the pattern
  bool unit_ = false;
};

}  // namespace sordino::trsv
