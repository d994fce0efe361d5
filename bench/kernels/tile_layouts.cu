// Tiles of block-Jacobi IC(0) solved by a thread each, in paper 001's two orders of arrays, and in ours
// (precond/tile_solve.hpp), of which 32 tiles lie interleaved: the times of its Table I. A line of JSON for each shape; every
// result is compared with the host's.
//
//   bench_tile_layouts 256x128x512 8x8x1,4x4x4 [engine=cuda|host] [contrast=1000] [repeats=15]
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "grid_triangles.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/tile_solve.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "tile_layouts.hpp"

namespace {
using namespace bench;
using cuda::call;

constexpr int threads = 128;

template <bool transposed>
__global__ void __launch_bounds__(threads) solve_tiles(ArrayOrder<transposed> order, TileArrays a, i32 count) {
  const i32 t = i32(blockIdx.x) * threads + i32(threadIdx.x);
  if (t < count) solve_tile(order, a, t);
}
template <int W>
__global__ void __launch_bounds__(threads) solve_interleaved(TileSolve<W> solve, i32 count) {
  const i32 t = i32(blockIdx.x) * threads + i32(threadIdx.x);
  if (t < count) solve.row(t);
}

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& from) : count_(from.size()) {
    call("cudaMalloc", cudaMalloc(&data_, std::max<std::size_t>(count_, 1) * sizeof(T)));
    call("cudaMemcpy", cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }
  T* data() const { return data_; }
  std::vector<T> taken() const {
    std::vector<T> to(count_);
    call("cudaMemcpy", cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

template <class Start>
double seconds_of(int repeats, const Start& start) {
  cudaEvent_t begin, end;
  call("cudaEventCreate", cudaEventCreate(&begin));
  call("cudaEventCreate", cudaEventCreate(&end));
  std::vector<double> seconds;
  for (int k = 0; k < repeats + 2; k++) {
    call("cudaEventRecord", cudaEventRecord(begin));
    start();
    call("cudaGetLastError", cudaGetLastError());
    call("cudaEventRecord", cudaEventRecord(end));
    call("cudaEventSynchronize", cudaEventSynchronize(end));
    float milliseconds = 0;
    call("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin, end));
    seconds.push_back(1e-3 * milliseconds);
  }
  call("cudaEventDestroy", cudaEventDestroy(begin));
  call("cudaEventDestroy", cudaEventDestroy(end));
  return median_of(seconds, 2);
}

/// Throws where two results differ by more than rounding, or on the host at all.
void compare(const std::vector<double>& found, const std::vector<double>& wanted, bool same_bits, const char* what) {
  double off = 0, scale = 0;
  for (std::size_t k = 0; k < wanted.size(); k++) {
    off = std::max(off, std::abs(found[k] - wanted[k]));
    scale = std::max(scale, std::abs(wanted[k]));
  }
  if (!(off <= (same_bits ? 0 : 1e-12) * scale))
    throw std::runtime_error(std::string(what) + " differs from the host's by " + std::to_string(off / scale));
}

struct Problem {
  CsrMatrix A;
  i32 cells[3], tile[3];
  std::vector<double> r, wanted;
  bool host;
  int repeats;
};

template <bool transposed>
ArrayOrder<transposed> order_of(const Problem& p) {
  ArrayOrder<transposed> order;
  std::copy_n(p.cells, 3, order.cells);
  std::copy_n(p.tile, 3, order.tile);
  return order;
}

/// Seconds of a solve with arrays in such an order; on the host 0.
template <bool transposed>
double seconds_in_order(const Problem& p) {
  const auto order = order_of<transposed>(p);
  const std::vector<double> factors = factors_in(order, p.A.view());
  std::vector<double> r = moved(order, p.r, false), y(r.size()), z(r.size());
  const std::size_t n = r.size();
  auto arrays = [n](const double* f, const double* r, double* y, double* z) {
    return TileArrays{{f, f + n, f + 2 * n, f + 3 * n}, r, y, z};
  };
  const char* what = transposed ? "the solve with z fastest" : "the solve with x fastest";
  if (p.host) {
    const TileArrays a = arrays(factors.data(), r.data(), y.data(), z.data());
    for (i32 t = 0; t < order.count(); t++) solve_tile(order, a, t);
    compare(moved(order, z, true), p.wanted, true, what);
    return 0;
  }
  const OnDevice<double> f(factors), on_r(r), on_y(y), on_z(z);
  const TileArrays a = arrays(f.data(), on_r.data(), on_y.data(), on_z.data());
  const double seconds = seconds_of(p.repeats, [&] {
    solve_tiles<transposed><<<(order.count() + threads - 1) / threads, threads>>>(order, a, order.count());
  });
  compare(moved(order, on_z.taken(), true), p.wanted, false, what);
  return seconds;
}

/// The library's own functor: on the host of the result that all others are compared with; on a GPU the seconds.
struct Interleaved {
  std::vector<double> factor, work;
  std::vector<i32> shifts;
  TileLayout layout;
  RankTiles tiles;

  Interleaved(const Problem& p, int width) {
    const Extents grid{p.cells[0], p.cells[1], p.cells[2]}, tile{p.tile[0], p.tile[1], p.tile[2]};
    const Tiling tiling{.grid = grid, .tile = tile};
    const TiledRows rows(tiling, 0, i32(p.A.view().n));
    const CsrView A = p.A.view();
    shifts = shifts_of(A, rows);
    tiles = rows.tiles;
    layout = {tiles.cells(), i32(shifts.size()) + 1, i32(shifts.size())};
    const i64 stored = (i64(tiles.count()) + width - 1) / width * width * layout.cells;
    factor.resize(std::size_t(stored * layout.slots));
    work.resize(std::size_t(stored));
    for_parts(
        0, tiles.count(),
        [&](i64 begin, i64 end) {
          TileFactor of(rows, shifts);
          for (i64 t = begin; t < end; t++) {
            if (of.factorize(A, i32(t), true) != TileFactor::none) bad_argument("a pivot is not positive");
            double* word = factor.data() + t / width * width * layout.cells * layout.slots + t % width;
            for (i32 cell = 0; cell < layout.cells; cell++)
              for (i32 d = 0; d <= layout.offdiagonals; d++, word += width)
                *word = d < layout.offdiagonals ? of.lower(cell, d) : of.inverse_pivot(cell);
          }
        },
        1 << 8);
  }
  template <int W>
  TileSolve<W> solve(const double* f, double* w, const i32* s, const double* r, double* z) const {
    TileSolve<W> solve{f, w, s, nullptr, layout, tiles, {}, {}};
    solve.r.p = r;
    solve.z.p = z;
    return solve;
  }
};

std::vector<double> on_host(const Problem& p) {
  Interleaved of(p, 1);
  std::vector<double> z(p.r.size());
  auto solve = of.solve<1>(of.factor.data(), of.work.data(), of.shifts.data(), p.r.data(), z.data());
  for_parts(
      0, of.tiles.count(),
      [&](i64 begin, i64 end) {
        TileSolve<1> mine = solve;
        for (i64 t = begin; t < end; t++) mine.row(i32(t));
      },
      1 << 8);
  return z;
}

double seconds_interleaved(const Problem& p) {
  if (p.host) return 0;
  const Interleaved of(p, tiles_of_warp);
  const OnDevice<double> factor(of.factor), work(of.work), r(p.r), z(std::vector<double>(p.r.size(), 0.0));
  const OnDevice<i32> shifts(of.shifts);
  const auto solve = of.solve<tiles_of_warp>(factor.data(), work.data(), shifts.data(), r.data(), z.data());
  const i32 count = of.tiles.count();
  const double seconds =
      seconds_of(p.repeats, [&] { solve_interleaved<<<(count + threads - 1) / threads, threads>>>(solve, count); });
  compare(z.taken(), p.wanted, false, "the solve of interleaved tiles");
  return seconds;
}

void numbers_of(const std::string& text, i32 (&to)[3]) {
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%dx%d%c", &to[0], &to[1], &to[2], &rest) != 3 || std::min({to[0], to[1], to[2]}) < 1)
    bad_argument("cells and tiles are three numbers such as 8x8x1, not " + text);
}

void measure(Problem& p, const std::string& tile, const Words& words) {
  numbers_of(tile, p.tile);
  for (int d = 0; d < 3; d++)
    if (p.tile[d] > p.cells[d]) bad_argument("tile " + tile + " is larger than the grid");
  p.wanted = on_host(p);
  const double natural = seconds_in_order<false>(p), transposed = seconds_in_order<true>(p), ours = seconds_interleaved(p);
  const double bytes = 88.0 * double(p.r.size());  // factors 7 words a cell, vectors 4
  std::printf("{\"bench\": \"tile_layouts\", \"size\": [%d, %d, %d], \"tile\": [%d, %d, %d], \"tiles\": %d, \"bytes\": %.6g, ",
              p.cells[0], p.cells[1], p.cells[2], p.tile[0], p.tile[1], p.tile[2], order_of<false>(p).count(), bytes);
  std::printf("\"x_fastest_ms\": %.5g, \"z_fastest_ms\": %.5g, \"interleaved_ms\": %.5g", 1e3 * natural, 1e3 * transposed,
              1e3 * ours);
  print_words(words);
  std::printf("}\n");
  std::fflush(stdout);
}

void measure(const char* cells, std::stringstream tiles, const Words& words) {
  Problem p;
  p.host = words.is("engine", "host");
  p.repeats = int(words.number("repeats", 15));
  numbers_of(cells, p.cells);
  p.A = poisson(p.cells[0], p.cells[1], p.cells[2], 7, double(words.number("contrast", 1000)));
  p.r.resize(std::size_t(p.A.view().n));
  std::mt19937_64 bits(1);
  for (double& v : p.r) v = std::ldexp(double(bits() >> 11), -52) - 1;
  for (std::string tile; std::getline(tiles, tile, ',');) measure(p, tile, words);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s CELLS TILE,... [name=value]..., such as 256x128x512 8x8x1,4x4x4\n", argv[0]);
    return 2;
  }
  try {
    measure(argv[1], std::stringstream(argv[2]), Words(argc, argv, 3));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
