// A lower triangle kept by rows, for substitution; and which triangles are kept so.
#pragma once
#include "sordino/trsv/factor.hpp"
#include "sordino/trsv/level_rows.hpp"

namespace sordino::trsv {

/// Entries of the filled pattern up to which a triangle is kept by supernodes; beyond them it is better kept by rows, where a
/// solve reads less than a quarter of the bytes. (Rows read 4 bytes more for each entry. Their loads are scattered, and there
/// are more levels than supernodes in a chain: up to that factor dense blocks win nevertheless. ADR 41 has the measurements.)
i64 most_filled(const LowerPattern& pattern, i64 value_bytes);
inline bool is_better_by_rows(const LowerPattern& pattern, const Elimination& elimination, i64 value_bytes) {
  return elimination.filled() > most_filled(pattern, value_bytes);
}

/// Memory: a value and 4 B for each entry, a value and 12 B for each row, of each direction that has been prepared. The order
/// of sums depends on the pattern alone.
template <class V>
class LevelFactor {
 public:
  /// The way forward is there then. Cost: linear in the entries; but for levels, and an order by them, by the threads that the
  /// options say, whose `threads`, `print` and `is_valid` count. Throws as validate() does.
  explicit LevelFactor(const TriangleView<V>& L, const FactorOptions& options = {.threads = 1});
  /// New values of the same pattern. What is refused leaves the old ones.
  void update(const TriangleView<V>& L);
  /// Throws what update() would refuse, and changes nothing.
  void check_update(const TriangleView<V>& L) const { checked_update(L); }
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
    LargeArray<V> values;
    std::vector<V> pivots;
  };
  const Way& way(Direction direction) const { return direction == Direction::forward ? forward_ : backward_; }
  TriangleView<V> checked_update(const TriangleView<V>& L) const;
  void fill_forward(const TriangleView<V>& L);
  void fill_backward();

  Way forward_, backward_;
  u64 print_ = 0;  // of the pattern
  bool unit_ = false;
  int threads_ = 1;
};

}  // namespace sordino::trsv
