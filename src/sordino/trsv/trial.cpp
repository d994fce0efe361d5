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

/// Sizes in the rows and columns of T.
struct Sizes {
  explicit Sizes(std::size_t n) : pivot(n), beside(n), most(n), seen(n) {}
  std::vector<double> pivot, beside, most;  // of a row: its pivot, the largest entry beside it, the largest of all
  std::vector<Aim> seen;                    // of a column k: the row i whose entry is least hidden, and the score of both
};

template <class V>
Sizes sizes_of(const TriangleView<V>& L, How how) {
  Sizes sizes(std::size_t(L.pattern.n));
  each_entry_of(L, how, 0, L.pattern.n, [&](i64 i, i64 j, V value) {
    const double size = magnitude(value);
    double& of_kind = i == j ? sizes.pivot[std::size_t(i)] : sizes.beside[std::size_t(i)];
    of_kind = std::max(of_kind, size);
    sizes.most[std::size_t(i)] = std::max(sizes.most[std::size_t(i)], size);
  });
  each_entry_of(L, how, 0, L.pattern.n, [&](i64 i, i64 k, V value) {
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
std::array<Aim, aimed> aims_of(const Sizes& sizes) {
  std::array<Aim, aimed> best;
  for (const Aim& aim : sizes.seen) {
    if (aim.score > best[0].score)
      best = {aim, best[0]};
    else if (aim.score > best[1].score)
      best[1] = aim;
  }
  return best;
}

/// x = 1, and less where row i of an aim has larger entries than that of its column k. [n]
template <class V>
std::vector<double> aimed_x(const TriangleView<V>& L, How how, const Aim& aim) {
  std::vector<double> x(std::size_t(L.pattern.n), 1.0);
  each_entry_of(L, how, 0, L.pattern.n, [&](i64 i, i64 m, V value) {
    const double size = magnitude(value);
    if (i == aim.i && size > aim.size) x[std::size_t(m)] = aim.size / size;
  });
  return x;
}

}  // namespace

template <class V>
std::vector<V> trial_of(const TriangleView<V>& L, How how) {
  const std::vector<V> sums = times_ones(L, how);
  std::vector<V> b(sums.size() * std::size_t(trial_columns));
  std::mt19937_64 bits;
  for (std::size_t k = 0; k < b.size(); k++)
    b[k] = k % std::size_t(trial_columns) == 0 ? sums[k / std::size_t(trial_columns)]
                                               : V(std::ldexp(double(bits() >> 11), -52) - 1);
  const std::array<Aim, aimed> aims = aims_of(sizes_of(L, how));
  for (std::size_t a = 0; a < aimed && aims[a].score > 0; a++) {
    const std::vector<double> x = aimed_x(L, how, aims[a]);
    const auto place = [a](i64 i) { return std::size_t(i * trial_columns) + 1 + a; };
    for (i64 i = 0; i < L.pattern.n; i++) b[place(i)] = V{};
    each_entry_of(L, how, 0, L.pattern.n,
                  [&](i64 i, i64 m, V value) { b[place(i)] = b[place(i)] + value * V(x[std::size_t(m)]); });
  }
  return b;
}

template std::vector<float> trial_of(const TriangleView<float>&, How);
template std::vector<double> trial_of(const TriangleView<double>&, How);
template std::vector<Number> trial_of(const TriangleView<Number>&, How);

}  // namespace sordino::trsv
