// The Wilson dslash on GPUs: what the host computes, to rounding, for both precisions and link formats, on grids of 1 to 4
// ranks.
#include "hops.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "support.hpp"

using namespace sordino;
using namespace sordino::lattice;

namespace {

/// Largest difference relative to the largest number, of fields whose words are doubles or pairs of floats.
template <class T>
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  auto *x = reinterpret_cast<const T*>(a.data()), *y = reinterpret_cast<const T*>(b.data());
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < a.size() * (sizeof(double) / sizeof(T)); i++) {
    if (!(std::abs(double(x[i])) < 1e30)) return INFINITY;  // NaN, too
    most = std::max(most, std::abs(double(x[i]) - double(y[i])));
    scale = std::max(scale, std::abs(double(y[i])));
  }
  return most / scale;
}

void compare(const std::vector<std::vector<double>>& got, const std::vector<std::vector<double>>& expected, bool single) {
  for (std::size_t k = 0; k < got.size(); k++) {
    REQUIRE(got[k].size() == expected[k].size());
    if (single)
      CHECK(difference<float>(got[k], expected[k]) < 5e-6);
    else
      CHECK(difference<double>(got[k], expected[k]) < 1e-14);
  }
}

}  // namespace

TEST("dslash: GPUs and host agree, in both precisions and link formats, on every kind of grid") {
  test::need_gpu();
  cuda::enable_kernels();
  const Coords grids[] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 1}, {1, 1, 1, 4}, {1, 2, 2, 1}, {2, 1, 1, 2}};
  for (Coords extent : {Coords{4, 4, 4, 8}, Coords{8, 4, 12, 16}})
    for (Coords grid : grids)
      for (Precision precision : {Precision::double_precision, Precision::single_precision})
        for (int reals : {18, 12}) {
          bool single = precision == Precision::single_precision;
          NOTE(to_string(extent), " on ", to_string(grid), single ? ", single, " : ", double, ", reals, " reals a link");
          hops::Case c{{extent, true}, grid, precision, reals};
          int ranks = grid[0] * grid[1] * grid[2] * grid[3];
          auto host = test::host_engine(ranks);
          auto expected = hops::run(*host, c);
          for (cuda::Sharing sharing : {cuda::Sharing::automatic, cuda::Sharing::always}) {
            cuda::Options o;
            o.sharing = sharing;
            auto gpu = test::cuda_engine(ranks, o);
            compare(hops::run(*gpu, c), expected, single);
          }
        }
}
