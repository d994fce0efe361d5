#include "sordino/hmatrix/gemv_batches.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "sordino/base/error.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i32 group_rows = 8;  // of Fig. 7(b)

/// The number of the range of rows that a gemv is in; ranges end at 8, 32, 64, 96, ...
i32 range_of(i32 rows) { return rows <= 8 ? 0 : (rows + 31) / 32; }

void sort(std::vector<Gemv>& gemvs, GemvOrder order) {
  auto before = [order](const Gemv& a, const Gemv& b) {
    if (order == GemvOrder::by_rows) return a.rows < b.rows;
    const i32 group_a = (a.rows - 1) / group_rows, group_b = (b.rows - 1) / group_rows;
    return std::tie(group_a, a.columns) < std::tie(group_b, b.columns);
  };
  if (order != GemvOrder::stored) std::stable_sort(gemvs.begin(), gemvs.end(), before);
}

/// Whether a gemv is of a batch that has so many already.
bool belongs(const Gemv& g, i64 already, const GemvBatch& batch, i64 count) {
  if (count == of_one_size) return g.rows == batch.rows && g.columns == batch.columns;
  return count > 0 ? already < count : range_of(g.rows) == range_of(batch.rows);
}

std::vector<GemvBatch> cut(const std::vector<Gemv>& gemvs, i64 count) {
  std::vector<GemvBatch> batches;
  for (i64 k = 0; k < i64(gemvs.size()); k++) {
    const Gemv& g = gemvs[std::size_t(k)];
    if (batches.empty() || !belongs(g, k - batches.back().begin, batches.back(), count)) batches.push_back({k, k, 0, 0});
    GemvBatch& b = batches.back();
    b.end = k + 1;
    b.rows = std::max(b.rows, g.rows);
    b.columns = std::max(b.columns, g.columns);
  }
  return batches;
}

std::vector<i32> all_leaves(const HMatrix& matrix) {
  std::vector<i32> numbers(matrix.leaves().size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

GemvBatches::GemvBatches(const HMatrix& matrix, const GemvOptions& options)
    : GemvBatches(matrix, options, all_leaves(matrix)) {}

GemvBatches::GemvBatches(const HMatrix& matrix, const GemvOptions& options, std::span<const i32> leaves)
    : term_(matrix.leaves().size()) {
  if (options.count < 0 && options.count != of_one_size) bad_argument("a batch has a gemv at least");
  if (options.count == 0 && options.order == GemvOrder::stored)
    bad_argument("batches of ranges of rows take gemvs that are sorted by rows or by groups of rows");
  collect(matrix, leaves);
  for (GemvPhase& phase : phases) {
    sort(phase.gemvs, options.order);
    if (options.count == of_one_size)
      std::stable_sort(phase.gemvs.begin(), phase.gemvs.end(),
                       [](const Gemv& a, const Gemv& b) { return std::tie(a.rows, a.columns) < std::tie(b.rows, b.columns); });
    phase.batches = cut(phase.gemvs, options.count);
  }
  if (options.padded) pad();
  place(matrix);
}

void GemvBatches::collect(const HMatrix& matrix, std::span<const i32> leaves) {
  auto add = [this](GemvPhase& phase, i32 rows, i32 columns, i32 leaf, Factor factor) {
    phase.gemvs.push_back({values, 0, 0, rows, columns, leaf, factor});
    values += i64(rows) * columns;
  };
  for (const i32 number : leaves) {
    const Leaf& leaf = matrix.leaves()[std::size_t(number)];
    const i32 rows = leaf.block.rows.size(), columns = leaf.block.columns.size();
    term_[std::size_t(number)] = terms_count_;
    if (leaf.is_dense()) {
      add(phases[0], rows, columns, number, Factor::dense);
    } else if (leaf.rank > 0) {
      add(phases[0], leaf.rank, columns, number, Factor::v);
      add(phases[1], rows, leaf.rank, number, Factor::u);
      terms_count_ += leaf.rank;
    }
  }
}

// Results of V are as long as its batch has rows, so that none is written twice; an operand of U may reach into the next ones,
// which meet zeros there.
void GemvBatches::pad() {
  values = terms_count_ = 0;
  for (GemvPhase& phase : phases)
    for (const GemvBatch& batch : phase.batches)
      for (i64 k = batch.begin; k < batch.end; k++) {
        Gemv& g = phase.gemvs[std::size_t(k)];
        g.rows = batch.rows;
        g.columns = batch.columns;
        g.values = values;
        values += i64(g.rows) * g.columns;
        if (g.factor != Factor::v) continue;
        term_[std::size_t(g.leaf)] = terms_count_;
        terms_count_ += g.rows;
      }
}

void GemvBatches::place(const HMatrix& matrix) {
  i32 beyond = 0;  // the end of y; operands, which have n columns at most, reach no further than into y
  for (const GemvPhase& phase : phases)
    for (const GemvBatch& batch : phase.batches) beyond = std::max(beyond, batch.rows);
  terms = matrix.size();
  result = terms + terms_count_;
  places = result + matrix.size() + beyond;
  for (GemvPhase& phase : phases)
    for (Gemv& g : phase.gemvs) {
      const Block& block = matrix.leaves()[std::size_t(g.leaf)].block;
      const i64 term = terms + term_[std::size_t(g.leaf)];
      g.from = g.factor == Factor::u ? term : block.columns.begin;
      g.to = g.factor == Factor::v ? term : result + block.rows.begin;
    }
}

std::vector<std::vector<i32>> deal(const HMatrix& matrix, const GemvOptions& options, int devices) {
  if (devices < 1) bad_argument("batches are dealt to a device at least");
  const GemvBatches all(matrix, options);
  const GemvPhase& first = all.phases[0];
  std::vector<std::vector<i32>> leaves(static_cast<std::size_t>(devices));
  for (std::size_t k = 0; k < first.batches.size(); k++)
    for (i64 g = first.batches[k].begin; g < first.batches[k].end; g++)
      leaves[k % leaves.size()].push_back(first.gemvs[std::size_t(g)].leaf);
  for (std::vector<i32>& of_device : leaves) std::ranges::sort(of_device);
  return leaves;
}

void copy_values(const Leaf& leaf, const Gemv& gemv, double* to) {
  const i32 rows = gemv.factor == Factor::v ? leaf.rank : leaf.block.rows.size();
  const i32 columns = gemv.factor == Factor::u ? leaf.rank : leaf.block.columns.size();
  const double* from = gemv.factor == Factor::v ? leaf.v : leaf.u;
  std::fill_n(to, i64(gemv.rows) * gemv.columns, 0.0);
  for (i32 i = 0; i < rows; i++)
    for (i32 j = 0; j < columns; j++) {
      const i64 place = gemv.factor == Factor::u ? i64(j) * gemv.rows + i : i64(i) * gemv.columns + j;
      to[place] = from[i64(i) * columns + j];
    }
}

}  // namespace sordino::hmatrix
