// What a task computes, as threads of the host and the model engine do it. Sums have one order, whoever computes them.
#pragma once
#include <vector>

#include "sordino/trsv/factor.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// Vectors of one rank's solve, with `columns` numbers a row, beside each other. In the order of the blocks, b and the result
/// of the caller excepted, whose rows are in the triangle's.
template <class V>
struct SolveVectors {
  const V* b = nullptr;   // [n][columns]
  V* result = nullptr;    // [n][columns]
  V* x = nullptr;         // [n][columns] of blocks above, on the way back; own ones are written there, too
  V* sums = nullptr;      // [slots][columns] on the way forward
  V* partials = nullptr;  // [Blocks::partials][columns] on the way back
  i64 columns = 1;
  bool conjugate = false;  // on the way back: L^H
};

/// One worker's, with the memory that it needs. Nothing is allocated once it has done its largest task.
template <class V>
class TaskSteps {
 public:
  explicit TaskSteps(const Factor<V>& factor) : factor_(factor), blocks_(factor.blocks()) {}
  void compute(const Task& task, Direction direction, const SolveVectors<V>& v);

 private:
  void forward(const Block& b, i32 first_strip, i32 end_strip, const SolveVectors<V>& v);
  /// The partial sum of a part of block k.
  void sum_part(i32 k, i32 part, const SolveVectors<V>& v);
  /// x of columns of block k, whose parts are summed.
  void close(i32 k, i32 first_column, i32 end_column, const SolveVectors<V>& v);
  /// All of it.
  void backward(i32 k, const SolveVectors<V>& v);
  void load_rows(const Block& b, StripRange strips, const SolveVectors<V>& v);
  void add_strip(const Block& b, i32 strip, i32 first_row, i32 column, const SolveVectors<V>& v, V* to) const;
  void store(const Block& b, i32 column, const V* x, const SolveVectors<V>& v) const;

  const Factor<V>& factor_;
  const Blocks& blocks_;
  std::vector<V> operand_, product_;
};

}  // namespace sordino::trsv
