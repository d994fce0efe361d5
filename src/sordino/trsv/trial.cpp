#include "sordino/trsv/trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "sordino/trsv/entries.hpp"

namespace sordino::trsv {
namespace {

constexpr std::size_t aimed = 2;  // columns

/// Row k's pivot loses digits, and row i shows it, by its entry T_ik of this size; none: size 0.
struct Aim {
  i64 k = -1, i = -1;
  double size = 0, score = 0;
};

/// Sizes in the rows and columns of T, and T * 1.
template <class V>
struct Sizes {
  explicit Sizes(std::size_t n) : pivot(n), beside(n), most(n), sums(n), seen(n) {}
  std::vector<double> pivot, beside, most;  // of a row: its pivot, the largest entry beside it, the largest of all
  std::vector<V> sums;                      // of a row, in the order of its entries
  std::vector<Aim> seen;                    // of a column k: the row i whose entry is least hidden, and the score of both
};

template <class V>
Sizes<V> sizes_of(const TriangleView<V>& L, How how, int threads) {
  Sizes<V> sizes(std::size_t(L.pattern.n));
  each_entry_by_rows(L, how, threads, [&](i64 i, i64 j, V value) {
    const double size = magnitude(value);
    double& of_kind = i == j ? sizes.pivot[std::size_t(i)] : sizes.beside[std::size_t(i)];
    of_kind = std::max(of_kind, size);
    sizes.sums[std::size_t(i)] = sizes.sums[std::size_t(i)] + value;
  });
  for (std::size_t i = 0; i < sizes.most.size(); i++) sizes.most[i] = std::max(sizes.pivot[i], sizes.beside[i]);
  each_entry_by_columns(L, how, threads, [&](i64 i, i64 k, V value) {
    if (i == k) return;
    const double size = magnitude(value), share = size / sizes.most[std::size_t(i)];
    Aim& aim = sizes.seen[std::size_t(k)];
    if (share > aim.score) aim = {k, i, size, share};
  });
  for (std::size_t k = 0; k < sizes.seen.size(); k++)
    sizes.seen[k].score = sizes.beside[k] / sizes.pivot[k] * std::sqrt(sizes.seen[k].score);
  return sizes;
}

/// The best ones, the best of all first.
template <class V>
std::array<Aim, aimed> aims_of(const Sizes<V>& sizes) {
  std::array<Aim, aimed> best;
  for (const Aim& aim : sizes.seen) {
    if (aim.score > best[0].score)
      best = {aim, best[0]};
    else if (aim.score > best[1].score)
      best[1] = aim;
  }
  return best;
}

/// For each aim x = 1, and less where its row i has larger entries than that of its column k. [n]
using AimedX = std::array<std::vector<double>, aimed>;
template <class V>
AimedX aimed_x(const TriangleView<V>& L, How how, const std::array<Aim, aimed>& aims, int threads) {
  AimedX x;
  x.fill(std::vector<double>(std::size_t(L.pattern.n), 1.0));
  each_entry_by_columns(L, how, threads, [&](i64 i, i64 m, V value) {
    for (std::size_t a = 0; a < aimed; a++)
      if (i == aims[a].i)
        if (const double size = magnitude(value); size > aims[a].size) x[a][std::size_t(m)] = aims[a].size / size;
  });
  return x;
}

/// Columns 1, ..., `count` become T x.
template <class V>
void take_aimed(const TriangleView<V>& L, How how, const AimedX& x, std::size_t count, int threads, std::vector<V>& b) {
  const auto place = [](i64 i, std::size_t a) { return std::size_t(i * trial_columns) + 1 + a; };
  for (i64 i = 0; i < L.pattern.n; i++)
    for (std::size_t a = 0; a < count; a++) b[place(i, a)] = V{};
  each_entry_by_rows(L, how, threads, [&](i64 i, i64 m, V value) {
    for (std::size_t a = 0; a < count; a++) b[place(i, a)] = b[place(i, a)] + value * V(x[a][std::size_t(m)]);
  });
}

}  // namespace

template <class V>
std::vector<V> trial_of(const TriangleView<V>& L, How how, int threads) {
  const Sizes<V> sizes = sizes_of(L, how, threads);
  std::vector<V> b(sizes.sums.size() * std::size_t(trial_columns));
  std::mt19937_64 bits;
  for (std::size_t k = 0; k < b.size(); k++)
    b[k] = k % std::size_t(trial_columns) == 0 ? sizes.sums[k / std::size_t(trial_columns)]
                                               : V(std::ldexp(double(bits() >> 11), -52) - 1);
  const std::array<Aim, aimed> aims = aims_of(sizes);
  const std::size_t count = std::size_t(std::count_if(aims.begin(), aims.end(), [](const Aim& a) { return a.score > 0; }));
  if (count > 0) take_aimed(L, how, aimed_x(L, how, aims, threads), count, threads, b);
  return b;
}

template std::vector<float> trial_of(const TriangleView<float>&, How, int);
template std::vector<double> trial_of(const TriangleView<double>&, How, int);
template std::vector<Number> trial_of(const TriangleView<Number>&, How, int);

}  // namespace sordino::trsv
