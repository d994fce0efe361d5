#include "sordino/trsv/task_steps.hpp"

#include "sordino/base/error.hpp"

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
  const bool is_forward = direction == Direction::forward;
  switch (t.kind) {
    case Task::Kind::strips:
      return is_forward ? forward(blocks[std::size_t(t.block)], t.first, t.end, v)
                        : sum_part(t.block, part_of(blocks_, t.block, t.first), v);
    case Task::Kind::columns: return close(t.block, t.first, t.end, v);
    case Task::Kind::rows: bad_argument("a triangle that has blocks has no task of rows");
    case Task::Kind::subtrees: break;
  }
  if (is_forward)
    for (i32 k = t.first; k < t.end; k++) forward(blocks[std::size_t(k)], 0, blocks[std::size_t(k)].strips(), v);
  else
    for (i32 k = t.end; k-- > t.first;) backward(k, v);
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
void TaskSteps<V>::backward(i32 k, const SolveVectors<V>& v) {
  for (i32 part = blocks_.part_begin[std::size_t(k)]; part < blocks_.part_begin[std::size_t(k) + 1]; part++)
    sum_part(k, part, v);
  close(k, 0, blocks_.blocks[std::size_t(k)].width, v);
}

/// operand_ of strips' rows: b, and behind the block's own rows -x.
template <class V>
void TaskSteps<V>::load_rows(const Block& b, StripRange strips, const SolveVectors<V>& v) {
  const i64 columns = v.columns;
  const i32 first = strips.first * b.strip_rows, end = std::min(strips.end * b.strip_rows, b.front);
  operand_.resize(std::size_t(std::max(end - first, 0) * columns));
  for (i32 i = first; i < end; i++) {
    const i32 row = blocks_.rows[std::size_t(b.rows + i)];
    const V* const from = i < b.width ? v.b + blocks_.order[std::size_t(row)] * columns : v.x + row * columns;
    for (i64 r = 0; r < columns; r++) operand_[std::size_t((i - first) * columns + r)] = i < b.width ? from[r] : V{} - from[r];
  }
}

/// to += a strip's part of a column's sum; operand_ begins with row `first_row`.
template <class V>
void TaskSteps<V>::add_strip(const Block& b, i32 strip, i32 first_row, i32 column, const SolveVectors<V>& v, V* to) const {
  const Strip s = strip_of(b, strip);
  const i32 skip = column > s.first ? column - s.first : 0;  // above the diagonal there are zeros
  const V* const values = factor_.strip(b, strip) + i64(column) * s.lead + skip;
  const V* const y = operand_.data() + (s.first + skip - first_row) * v.columns;
  if (v.conjugate)
    add_product(values, s.rows - skip, y, v.columns, to, [](V a) { return conjugate(a); });
  else
    add_product(values, s.rows - skip, y, v.columns, to, [](V a) { return a; });
}

template <class V>
void TaskSteps<V>::sum_part(i32 k, i32 part, const SolveVectors<V>& v) {
  const Block& b = blocks_.blocks[std::size_t(k)];
  const StripRange strips = blocks_.parts[std::size_t(part)];
  V* const to = v.partials + blocks_.partial[std::size_t(part)] * v.columns;
  std::fill_n(to, b.width * v.columns, V{});
  load_rows(b, strips, v);
  for (i32 s = strips.first; s < strips.end; s++)
    for (i32 j = 0; j < strip_of(b, s).columns; j++) add_strip(b, s, strips.first * b.strip_rows, j, v, to + j * v.columns);
}

template <class V>
void TaskSteps<V>::close(i32 k, i32 first_column, i32 end_column, const SolveVectors<V>& v) {
  const Block& b = blocks_.blocks[std::size_t(k)];
  const StripRange near = blocks_.near[std::size_t(k)];
  load_rows(b, near, v);
  for (i32 j = first_column; j < end_column; j++) {
    product_.assign(std::size_t(v.columns), V{});
    for (i32 part = blocks_.part_begin[std::size_t(k)]; part < blocks_.part_begin[std::size_t(k) + 1]; part++) {
      const V* const of_part = v.partials + (blocks_.partial[std::size_t(part)] + j) * v.columns;
      for (i64 r = 0; r < v.columns; r++) product_[std::size_t(r)] = product_[std::size_t(r)] + of_part[r];
    }
    for (i32 s = near.first; s < near.end; s++) add_strip(b, s, near.first * b.strip_rows, j, v, product_.data());
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
