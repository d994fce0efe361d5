#include <algorithm>
#include <limits>
#include <string>

#include "sordino/hmatrix/cuda/gemv_kernels.hpp"
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::hmatrix {
namespace {

constexpr int threads = 128, lanes = 32, warps = threads / lanes;

struct Batch {
  const Gemv* gemvs;
  const double* values;
  double* vectors;
  i64 result;
  i32 rows, columns;  // where sizes are fixed
  i32 blocks;         // of a gemv
};

/// A gemv as a thread block sees it. In a batch of one size that size is the launch's.
template <bool fixed>
struct Mine {
  const double* values;
  const double* x;
  double* y;
  i32 rows, columns;
  i32 block;  // which of the gemv's
  bool adds;

  __device__ explicit Mine(const Batch& b) {
    const u32 which = blockIdx.x / u32(b.blocks);
    const Gemv& g = b.gemvs[which];
    values = b.values + g.values;
    x = b.vectors + g.from;
    y = b.vectors + g.to;
    rows = fixed ? b.rows : g.rows;
    columns = fixed ? b.columns : g.columns;
    block = i32(blockIdx.x - which * u32(b.blocks));
    adds = g.to >= b.result;
  }
  __device__ void store(i32 row, double sum) const {
    if (adds)
      atomicAdd(y + row, sum);
    else
      y[row] = sum;
  }
};

/// Rows of values one after the other: a warp takes every fourth row of `tile`, and adds up columns together.
template <int tile, bool fixed>
__global__ void __launch_bounds__(threads) multiply_rows(const Batch b) {
  constexpr int rows_of_warp = tile / warps;
  const Mine<fixed> g(b);
  const i32 lane = i32(threadIdx.x) % lanes, warp = i32(threadIdx.x) / lanes;
  for (i32 first = g.block * tile; first < g.rows; first += b.blocks * tile) {
    double sums[rows_of_warp] = {};
    for (i32 j = lane; j < g.columns; j += lanes) {
      const double x = g.x[j];
#pragma unroll
      for (int r = 0; r < rows_of_warp; r++) {
        const i32 row = first + warp + r * warps;
        if (row < g.rows) sums[r] += g.values[i64(row) * g.columns + j] * x;
      }
    }
#pragma unroll
    for (int r = 0; r < rows_of_warp; r++) {
      const i32 row = first + warp + r * warps;
      for (int half = lanes / 2; half > 0; half /= 2) sums[r] += __shfl_xor_sync(~0u, sums[r], half);
      if (lane == 0 && row < g.rows) g.store(row, sums[r]);
    }
  }
}

/// Columns of values one after the other: a thread takes a row of `tile`, and of its columns every `shares`-th.
template <int tile, bool fixed>
__global__ void __launch_bounds__(threads) multiply_columns(const Batch b) {
  constexpr int shares = threads / tile;
  __shared__ double parts[threads];
  const Mine<fixed> g(b);
  const i32 place = i32(threadIdx.x) % tile, share = i32(threadIdx.x) / tile;
  for (i32 first = g.block * tile; first < g.rows; first += b.blocks * tile) {
    const i32 row = first + place;
    double sum = 0;
    if (row < g.rows)
      for (i32 j = share; j < g.columns; j += shares) sum += g.values[i64(j) * g.rows + row] * g.x[j];
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (share == 0 && row < g.rows) {
      for (int other = 1; other < shares; other++) sum += parts[other * tile + place];
      g.store(row, sum);
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(threads) add(double* to, const double* from, i64 count) {
  const i64 k = i64(blockIdx.x) * threads + threadIdx.x;
  if (k < count) to[k] += from[k];
}

u32 checked_grid(i64 blocks) {
  if (blocks > std::numeric_limits<i32>::max())
    throw Error(Errc::unsupported,
                "a batch would take " + std::to_string(blocks) + " thread blocks, more than a launch can have");
  return u32(blocks);
}

template <int tile, bool fixed>
void start_tiles(const GemvLaunch& l, cudaStream_t stream) {
  const i32 blocks = l.subgrid == Subgrid::one_block ? 1 : (l.rows + tile - 1) / tile;
  const Batch b{l.gemvs, l.values, l.vectors, l.result, l.rows, l.columns, blocks};
  const u32 grid = checked_grid(l.count * blocks);
  if (l.by_columns)
    multiply_columns<tile, fixed><<<grid, threads, 0, stream>>>(b);
  else
    multiply_rows<tile, fixed><<<grid, threads, 0, stream>>>(b);
  cuda::call("a launch of a batch of gemvs", cudaGetLastError());
}

/// MAGMA's kernel has parameters for few, some and many rows, too.
template <bool fixed>
void start_sized(const GemvLaunch& l, cudaStream_t stream) {
  if (l.rows <= 8)
    start_tiles<8, fixed>(l, stream);
  else if (l.rows <= 32)
    start_tiles<32, fixed>(l, stream);
  else
    start_tiles<64, fixed>(l, stream);
}

}  // namespace

void start(const GemvLaunch& launch, cudaStream_t stream) {
  if (launch.fixed)
    start_sized<true>(launch, stream);
  else
    start_sized<false>(launch, stream);
}

void start_adding(double* to, const double* from, i64 count, cudaStream_t stream) {
  add<<<checked_grid((count + threads - 1) / threads), threads, 0, stream>>>(to, from, count);
  cuda::call("a launch of a sum", cudaGetLastError());
}

}  // namespace sordino::hmatrix
