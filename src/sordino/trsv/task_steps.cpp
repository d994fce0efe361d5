#include "sordino/trsv/task_steps.hpp"

namespace sordino::trsv {
namespace {

/// to[i] += from[i] * a, of a column of a strip; with several right-hand sides to[i][r] += from[i] * a[r].
template <class V>
void add_column(const V* from, i32 rows, const V* a, i64 columns, V* to) {
  if (columns == 1) {
    for (i32 i = 0; i < rows; i++) to[i] = to[i] + from[i] * a[0];
    return;
  }
  for (i32 i = 0; i < rows; i++)
    for (i64 r = 0; r < columns; r++) to[i * columns + r] = to[i * columns + r] + from[i] * a[r];
}

/// to[r] += the sum of from[i] y[i][r]
template <class V, class Value>
void add_product(const V* from, i32 rows, const V* y, i64 columns, V* to, const Value& value) {
  for (i64 r = 0; r < columns; r++) {
    V sums[4] = {};
    i32 i = 0;
    for (; i + 4 <= rows; i += 4)
      for (int k = 0; k < 4; k++) sums[k] = sums[k] + value(from[i + k]) * y[(i + k) * columns + r];
    for (; i < rows; i++) sums[0] = sums[0] + value(from[i]) * y[i * columns + r];
    to[r] = to[r] + ((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
}

}  // namespace

template <class V>
void TaskSteps<V>::compute(const Task& t, Direction direction, const SolveVectors<V>& v) {
  const auto& blocks = blocks_.blocks;
  if (t.kind == Task::Kind::strips) return forward(blocks[std::size_t(t.block)], t.first, t.end, v);
  if (t.kind == Task::Kind::columns) return backward(blocks[std::size_t(t.block)], t.first, t.end, v);
  if (direction == Direction::forward)
    for (i32 k = t.first; k < t.end; k++) forward(blocks[std::size_t(k)], 0, blocks[std::size_t(k)].strips(), v);
  else
    for (i32 k = t.end; k-- > t.first;) backward(blocks[std::size_t(k)], 0, blocks[std::size_t(k)].width, v);
}

template <class V>
void TaskSteps<V>::forward(const Block& b, i32 first_strip, i32 end_strip, const SolveVectors<V>& v) {
  const i64 columns = v.columns;
  auto add_sources = [&](i32 i, V* to) {
    for (i64 e = blocks_.source_begin[std::size_t(b.source + i)]; e < blocks_.source_begin[std::size_t(b.source + i) + 1]; e++)
      for (i64 r = 0; r < columns; r++) to[r] = to[r] + v.sums[blocks_.sources[std::size_t(e)] * columns + r];
  };
  operand_.assign(std::size_t(b.width * columns), V{});  // b less the children's sums
  for (i32 j = 0; j < b.width; j++) {
    V* const at = operand_.data() + j * columns;
    add_sources(j, at);
    const V* const from = v.b + blocks_.order[std::size_t(b.column + j)] * columns;
    for (i64 r = 0; r < columns; r++) at[r] = from[r] - at[r];
  }
  for (i32 k = first_strip; k < end_strip; k++) {
    const Strip s = strip_of(b, k);
    const V* values = factor_.strip(b, k);
    product_.assign(std::size_t(s.rows * columns), V{});
    for (i32 j = 0; j < s.columns; j++, values += s.lead)
      add_column(values, s.rows, operand_.data() + j * columns, columns, product_.data());
    for (i32 i = 0; i < s.rows; i++) {
      const i32 row = s.first + i;
      V* const of_row = product_.data() + i * columns;
      if (row < b.width) {
        store(b, row, of_row, v);
      } else {
        V* const sums = v.sums + (b.slot + row - b.width) * columns;
        std::fill_n(sums, columns, V{});
        add_sources(row, sums);
        for (i64 r = 0; r < columns; r++) sums[r] = sums[r] + of_row[r];
      }
    }
  }
}

template <class V>
void TaskSteps<V>::backward(const Block& b, i32 first_column, i32 end_column, const SolveVectors<V>& v) {
  const i64 columns = v.columns;
  operand_.resize(std::size_t(b.front * columns));  // b, and behind it -x of the rows below
  for (i32 i = first_column; i < b.front; i++) {
    const i32 row = blocks_.rows[std::size_t(b.rows + i)];
    const V* const from = i < b.width ? v.b + blocks_.order[std::size_t(row)] * columns : v.x + row * columns;
    for (i64 r = 0; r < columns; r++) operand_[std::size_t(i * columns + r)] = i < b.width ? from[r] : V{} - from[r];
  }
  for (i32 j = first_column; j < end_column; j++) {
    product_.assign(std::size_t(columns), V{});
    for (i32 k = j / b.strip_rows; k < b.strips(); k++) {
      const Strip s = strip_of(b, k);
      const i32 skip = j > s.first ? j - s.first : 0;  // above the diagonal there are zeros
      const V* const values = factor_.strip(b, k) + i64(j) * s.lead + skip;
      const V* const y = operand_.data() + (s.first + skip) * columns;
      if (v.conjugate)
        add_product(values, s.rows - skip, y, columns, product_.data(), [](V a) { return conjugate(a); });
      else
        add_product(values, s.rows - skip, y, columns, product_.data(), [](V a) { return a; });
    }
    store(b, j, product_.data(), v);
  }
}

template <class V>
void TaskSteps<V>::store(const Block& b, i32 column, const V* x, const SolveVectors<V>& v) const {
  const i64 place = b.column + column;
  for (i64 r = 0; r < v.columns; r++) {
    v.x[place * v.columns + r] = x[r];
    v.result[blocks_.order[std::size_t(place)] * v.columns + r] = x[r];
  }
}

template class TaskSteps<float>;
template class TaskSteps<double>;
template class TaskSteps<Number>;

}  // namespace sordino::trsv
