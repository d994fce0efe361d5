#include "sordino/hmatrix/probes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

constexpr i64 leaves_at_once = 1 << 14;          // that a thread looks through
constexpr i64 columns_at_once = 1 << 12;         // that a thread computes
constexpr std::size_t pieces_at_once = 1 << 20;  // that are told to others
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Part of a drawn row: the columns of a leaf.
struct Piece {
  i64 probe, leaf;
  double error_squared = 0;
};

std::vector<i32> drawn_rows(i64 n, i64 probes, u64 seed) {
  std::vector<i32> rows;
  std::mt19937_64 draw(~seed);
  for (i64 p = 0; p < probes; p++) rows.push_back(probes == n ? i32(p) : i32(draw() % u64(n)));
  std::ranges::sort(rows);
  return rows;
}

template <class V>
std::vector<Piece> pieces_of(std::span<const i32> rows, std::span<const LeafOf<V>> leaves, int threads) {
  const i64 n = i64(leaves.size());
  std::vector<std::vector<Piece>> found(std::size_t((n - 1) / leaves_at_once + 1));
  auto look = [&](i64 begin, i64 end, int) {
    for (i64 l = begin; l < end; l++) {
      const RowRange range = leaves[std::size_t(l)].block.rows;
      for (auto p = std::ranges::lower_bound(rows, range.begin); p < rows.end() && *p < range.end; ++p)
        found[std::size_t(begin / leaves_at_once)].push_back({p - rows.begin(), l});
    }
  };
  deal_out(n, leaves_at_once, threads, look);
  std::vector<Piece> all;
  for (const auto& some : found) all.insert(all.end(), some.begin(), some.end());
  return all;
}

/// What others have compared: each piece is zero but with who holds its leaf.
void exchange(std::vector<Piece>& pieces, Accord& processes) {
  for (std::size_t first = 0; first < pieces.size(); first += pieces_at_once) {
    const auto some = std::span(pieces).subspan(first, std::min(pieces_at_once, pieces.size() - first));
    std::vector<double> errors;
    for (const Piece& p : some) errors.push_back(std::isnan(p.error_squared) ? infinity : p.error_squared);
    errors = processes.most(std::move(errors));
    for (std::size_t k = 0; k < some.size(); k++) some[k].error_squared = errors[k];
  }
}

/// Of each leaf the sum over its rows; one that was drawn again counts once.
std::vector<LeafError> errors_of(std::span<const Piece> pieces, std::span<const i32> rows) {
  std::vector<LeafError> leaves;
  for (const Piece& p : pieces) {
    if (leaves.empty() || leaves.back().leaf != p.leaf) leaves.push_back({p.leaf, 0});
    const std::size_t row = std::size_t(p.probe);
    if (row == 0 || rows[row - 1] != rows[row]) leaves.back().squared += p.error_squared;
  }
  return leaves;
}

/// The generator's entries of a row, from the first of these columns on.
template <class V>
class Reader {
 public:
  Reader(const GeneratorOf<V>& generator, std::span<const i32> order, const ExactRows<V>* known)
      : generator_(generator), order_(order), known_(known) {}

  /// Of probe p, which is this row; `space` may come to hold them.
  std::span<const V> operator()(i64 p, i32 row, RowRange columns, std::vector<V>& space) const {
    const auto count = std::size_t(columns.size());
    if (known_) return {known_->entries.data() + p * i64(order_.size()) + columns.begin, count};
    space.resize(count);
    entries(row, columns, space.data());
    return space;
  }
  void entries(i32 row, RowRange columns, V* out) const {
    generator_.entries(order_.subspan(std::size_t(row), 1),
                       order_.subspan(std::size_t(columns.begin), std::size_t(columns.size())), out);
  }

 private:
  const GeneratorOf<V>& generator_;
  const std::span<const i32> order_;
  const ExactRows<V>* known_;
};

}  // namespace

template <class V>
ExactRows<V> exact_rows(const GeneratorOf<V>& generator, std::span<const i32> order, i64 probes, u64 seed, int threads) {
  const i64 n = i64(order.size());
  ExactRows<V> exact{drawn_rows(n, std::min(n, probes), seed), {}};
  const i64 rows = i64(exact.rows.size()), pieces = (n - 1) / columns_at_once + 1;
  exact.entries = LargeArray<V>(std::size_t(rows * n));
  const Reader<V> reader(generator, order, nullptr);
  auto compute = [&](i64 k, i64, int) {
    const i64 row = k / pieces, first = k % pieces * columns_at_once;
    const RowRange columns{i32(first), i32(std::min(n, first + columns_at_once))};
    reader.entries(exact.rows[std::size_t(row)], columns, &exact.entries[std::size_t(row * n + first)]);
  };
  deal_out(rows * pieces, 1, threads, compute);
  return exact;
}

// The square of a row's error has the mean ||A - H||^2 / n over rows drawn with equal chance.
template <class V>
Probed probe(const GeneratorOf<V>& generator, const HMatrixOf<V>& matrix, i64 most_probes, u64 seed, int threads,
             Accord* processes, const ExactRows<V>* known) {
  const i64 n = matrix.size(), probes = std::min(n, most_probes);
  const Reader<V> reader(generator, matrix.tree().order, known);
  const std::vector<i32> rows = drawn_rows(n, probes, seed);
  std::vector<Piece> pieces = pieces_of<V>(rows, matrix.leaves(), threads);
  auto compare = [&](i64 k, i64, int) {
    Piece& piece = pieces[std::size_t(k)];
    const LeafOf<V>& leaf = matrix.leaves()[std::size_t(piece.leaf)];
    if (!leaf.is_held()) return;  // with rank 0 nothing is held: all compare it, and find the same
    const i32 row = rows[std::size_t(piece.probe)];
    std::vector<V> space, stored(std::size_t(leaf.block.columns.size()));
    const std::span<const V> exact = reader(piece.probe, row, leaf.block.columns, space);
    leaf.row(row, stored.data());
    for (std::size_t j = 0; j < exact.size(); j++) piece.error_squared += squared(stored[j] - exact[j]);
  };
  deal_out(i64(pieces.size()), 1, threads, compare);
  if (processes) exchange(pieces, *processes);
  std::vector<double> errors(rows.size());
  for (const Piece& p : pieces) errors[std::size_t(p.probe)] += double(n) * p.error_squared;
  double mean = 0, spread = 0;
  for (double e : errors) mean += e / double(probes);
  for (double e : errors) spread += (e - mean) * (e - mean);
  // Of the root, half of that of the square.
  const double relative = mean > 0 && probes > 1 && probes < n ? std::sqrt(spread / double(probes * (probes - 1))) / mean : 0;
  return {std::sqrt(mean), 0.5 * std::sqrt(mean) * relative, errors_of(pieces, rows)};
}

template Probed probe(const GeneratorOf<double>&, const HMatrixOf<double>&, i64, u64, int, Accord*, const ExactRows<double>*);
template Probed probe(const GeneratorOf<Number>&, const HMatrixOf<Number>&, i64, u64, int, Accord*, const ExactRows<Number>*);
template ExactRows<double> exact_rows(const GeneratorOf<double>&, std::span<const i32>, i64, u64, int);
template ExactRows<Number> exact_rows(const GeneratorOf<Number>&, std::span<const i32>, i64, u64, int);

}  // namespace sordino::hmatrix
