// What rows drawn at random say of a matrix's error: against these rows themselves, and on any number of threads.
#include "sordino/hmatrix/probes.hpp"

#include <random>

#include "check.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/surfaces.hpp"

namespace {

using namespace sordino;
using namespace sordino::hmatrix;

/// n times the square of a row's error, of rows drawn as probe() draws them, one entry after the other.
template <class V>
std::vector<double> errors(const GeneratorOf<V>& generator, const HMatrixOf<V>& H, int probes, u64 seed) {
  const std::size_t n = std::size_t(H.size());
  std::mt19937_64 draw(~seed);
  std::vector<double> of_rows;
  std::vector<V> stored(n);
  for (int p = 0; p < probes; p++) {
    const std::size_t i = draw() % n;
    H.row(i32(i), stored.data());
    long double sum = 0;
    for (std::size_t j = 0; j < n; j++) {
      V entry;
      generator.entries({&H.tree().order[i], 1}, {&H.tree().order[j], 1}, &entry);
      sum += (long double)squared(stored[j] - entry);
    }
    of_rows.push_back(double(n * sum));
  }
  return of_rows;
}

template <class V>
void compare(const GeneratorOf<V>& generator, u64 seed) {
  const HMatrixOf<V> H(generator, {.compression = {.eps = 1e-3}, .probes = 0});
  for (int probes : {1, 5, 100}) {
    const auto of_rows = errors(generator, H, probes, seed);
    double mean = 0, variance = 0;
    for (double e : of_rows) mean += e / probes;
    for (double e : of_rows) variance += (e - mean) * (e - mean) / (double(probes) * std::max(1, probes - 1));
    const Probed one = probe(generator, H, probes, seed, 1);
    NOTE(probes, " probes, seed ", seed);
    CHECK_NEAR(one.error, std::sqrt(mean), 1e-10 * std::sqrt(mean));
    const double spread = mean > 0 ? std::sqrt(variance) / (2 * std::sqrt(mean)) : 0;  // a row may be stored without an error
    CHECK_NEAR(one.standard_error, spread, 1e-8 * std::sqrt(mean));
    for (int threads : {2, 7}) {
      const Probed more = probe(generator, H, probes, seed, threads);
      CHECK(more.error == one.error);
      CHECK(more.standard_error == one.standard_error);
      const ExactRows<V> rows = exact_rows(generator, std::span<const i32>(H.tree().order), probes, seed, threads);
      const Probed known = probe(generator, H, probes, seed, threads, nullptr, &rows);
      CHECK(known.error == one.error);
      CHECK(known.standard_error == one.standard_error);
    }
  }
}

}  // namespace

TEST("probes say what their rows do, of real and complex matrices, on any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(62);
  compare(bem::Laplace(surfaces::sphere(6, 10).view()), u64(random.whole(0, 1 << 30)));
  compare(bem::Helmholtz(surfaces::sphere(5, 8, 1.0).view(), 3.0), u64(random.whole(0, 1 << 30)));
}
