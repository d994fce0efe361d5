// Products of tall vectors with tall vectors, a_i' b_j of all i and j, as batches of small products (001, section IV-C): rows
// are cut into batches, every batch is multiplied by itself, and the results are added up.
//
// So a vector is read once, whatever the number of products, and what a batch leaves is written and read once: s * columns
// numbers for (s + columns) times as many rows. Batches do not reach over the blocks of a space, so that neither they nor the
// order of any sum hang on the number of ranks. On a GPU a thread block multiplies a batch, by instructions that multiply small
// matrices, in an order of their own; where engines sum in the host's order (sum_order.hpp), so does it.
#pragma once
#include <algorithm>
#include <utility>

#include "sordino/runtime/engine_memory.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/one_thread.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/runtime/sum_order.hpp"

namespace sordino::gram {

constexpr int most_s = 16;
constexpr int side = 4;         // vectors of which a warp multiplies as many with as many at once
constexpr int most_added = 16;  // sums of batches that a command adds up: one reduction has so many on GPUs

/// Thread blocks on a multiprocessor of a GPU: 6 leave a thread 40 registers, 2 leave it 128, of which a number takes two.
constexpr int blocks_for(int numbers) { return numbers > 12 ? 2 : 6; }

/// Two rows of a vector, as they are loaded at once.
struct alignas(16) TwoRows {
  double of[2];
};

/// The products of every batch, of up to side * M vectors with as many; `upper`: with up to side more, and none of j < i is
/// asked for.
template <int M, bool upper>
struct Products {
  static constexpr const char* name = upper ? "Upper products" : "Products";
  static constexpr bool by_blocks = true;
  static constexpr int N = upper ? M + 1 : M;
  static constexpr int resident_blocks = 2;  // 128 registers a thread, for what is loaded ahead
  i32 s, columns;
  double rows, batches;                                                    // of this rank
  const i32* first;                                                        // [batches + 1] rows
  Foreign<const double, Access::read> a[side * M] = {}, b[side * N] = {};  // [s], [columns]
  Foreign<double, Access::update> sums;                                    // [batches][s][columns]
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    for (int i = 0; i < s; i++) visit(a[i]);
    for (int j = 0; j < columns; j++) visit(b[j]);
    visit(sums);
  }
  Cost cost() const {
    const int products = upper ? s * (s + 1) / 2 + s * (columns - s) : s * columns;
    return {8.0 * ((s + columns) * rows + products * batches), 2.0 * products * rows};
  }

  void row(i32 batch) const {
    for (i32 i = 0; i < s; i++)
      for (i32 j = upper ? i : 0; j < columns; j += at_once) multiply_on_cpu(batch, i, j);
  }
  template <class Threads>
  SORDINO_HD void row(i32 batch, const Threads& threads) const {
    if constexpr (Threads::in_order)
      in_order(batch, threads);
    else
      by_warps(batch, threads);
  }

 private:
  static constexpr int at_once = 2, lanes = 4;             // columns and running sums of each: what a CPU keeps in registers
  static constexpr i32 line = 16;                          // rows of a cache line
  static constexpr int ahead = M < 2 ? 4 : M < 4 ? 2 : 1;  // lines of a vector that a warp loads before it multiplies

  SORDINO_HD double* of(i32 batch) const { return sums.p + i64(batch) * s * columns; }

  void multiply_on_cpu(i32 batch, i32 i, i32 j) const {
    const i32 begin = first[batch], count = first[batch + 1] - begin, there = std::min(at_once, columns - j);
    const double *x = a[i].p + begin, *y[at_once];
    for (int k = 0; k < at_once; k++) y[k] = b[std::min(j + k, columns - 1)].p + begin;
    double running[at_once][running_sums];
    for (int group = 0; group < running_sums; group += lanes) {
      double of_group[at_once][lanes] = {};
      i32 row = group;
      for (; row + lanes <= count; row += running_sums)
        for (int k = 0; k < at_once; k++)
          for (int l = 0; l < lanes; l++) of_group[k][l] += x[row + l] * y[k][row + l];
      for (int k = 0; k < at_once; k++)
        for (int l = 0; l < lanes && row + l < count; l++) of_group[k][l] += x[row + l] * y[k][row + l];
      for (int k = 0; k < at_once; k++) std::copy_n(of_group[k], lanes, running[k] + group);
    }
    for (int k = 0; k < there; k++) of(batch)[i * columns + j + k] = fold(running[k], count);
  }
  /// A warp for each product, with a thread for each running sum.
  template <class Threads>
  SORDINO_HD void in_order(i32 batch, const Threads& threads) const {
    const i32 begin = first[batch], end = first[batch + 1];
    for (i32 k = threads.warp; k < s * columns; k += Threads::warps) {
      const i32 i = k / columns, j = k % columns;
      if (upper && j < i) continue;
      double running[1] = {};
      for (i32 row = begin + threads.lane; row < end; row += Threads::lanes) running[0] += a[i][row] * b[j][row];
      threads.sum(running, 1, false, [&](i32, double sum) { of(batch)[k] = sum; });
    }
  }
  /// A warp takes `part` rows at a time, and loads whole cache lines: 16 rows of 4 vectors, two a thread.
  template <class Threads>
  SORDINO_HD void by_warps(i32 batch, const Threads& threads) const {
    const i32 begin = first[batch], end = first[batch + 1];
    const double *x[M], *y[N];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int m = 0; m < M; m++) x[m] = vector_of_lane(a, m, threads.lane);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int n = 0; n < N; n++) y[n] = vector_of_lane(b, n, threads.lane);
    double c[M][N][2] = {};
    constexpr i32 part = ahead * line;
    for (i32 row = begin / line * line + part * threads.warp; row < end; row += part * Threads::warps) {
      const i32 mine = row + 2 * (threads.lane % 8);
      auto multiply = [&](const auto& load) {
        TwoRows of_x[ahead][M], of_y[ahead][N];
        for (int k = 0; k < ahead; k++) {
          for (int m = 0; m < M; m++) of_x[k][m] = load(x[m], mine + k * line);
          for (int n = 0; n < N; n++) of_y[k][n] = load(y[n], mine + k * line);
        }
        for (int k = 0; k < ahead; k++)
          for (int nth = 0; nth < 2; nth++)
            for (int m = 0; m < M; m++)
              for (int n = upper ? m : 0; n < N; n++) threads.multiply_halves(c[m][n], of_x[k][m].of[nth], of_y[k][n].of[nth]);
      };
      if (begin <= row && row + part <= end)
        multiply([](const double* v, i32 i) { return v ? *reinterpret_cast<const TwoRows*>(v + i) : TwoRows{}; });
      else
        multiply([&](const double* v, i32 i) { return TwoRows{{own(v, i, begin, end), own(v, i + 1, begin, end)}}; });
    }
    double* to = of(batch);
    threads.add_halves(c, [&](i32 i, i32 j, double sum) {
      if (i < s && j < columns) to[i * columns + j] = sum;
    });
  }
  /// The one of `side` vectors that a lane loads, or null. Chosen by comparing, since a thread's array that it looked up by its
  /// number would lie in memory.
  template <int n>
  SORDINO_HD static const double* vector_of_lane(const Foreign<const double, Access::read> (&vectors)[n], int tile, int lane) {
    const double* mine = nullptr;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < side; k++)
      if (k == lane / 8) mine = vectors[tile * side + k].p;
    return mine;
  }
  /// A row of the batch; others are zeros, as are those of a vector that is not there.
  SORDINO_HD static double own(const double* vector, i32 row, i32 begin, i32 end) {
    return vector && row >= begin && row < end ? vector[row] : 0;
  }
};

/// K of the sums of all batches.
template <int K>
struct AddBatches {
  static constexpr const char* name = "Add batches";
  static constexpr int resident_blocks = blocks_for(2 * K);
  i32 of_batch;  // numbers that a batch has,
  i32 at[K];     //   and where there these lie
  double batches;
  Foreign<const double, Access::read> sums;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(sums);
  }
  Cost cost() const { return {8.0 * K * batches, K * batches}; }
  SORDINO_HD Sums<K> row(i32 batch) const {
    const double* from = sums.p + i64(batch) * of_batch;
    Sums<K> out;
    for (int k = 0; k < K; k++) out.v[k] = from[at[k]];
    return out;
  }
};

template <std::size_t... K>
KernelList<Kernel<AddBatches<int(K) + 1>>...> adders(std::index_sequence<K...>);  // decltype of it is a list
using ProductKernels = decltype(joined(
    KernelList<Kernel<Products<1, false>>, Kernel<Products<2, false>>, Kernel<Products<3, false>>, Kernel<Products<4, false>>,
               Kernel<Products<1, true>>, Kernel<Products<2, true>>, Kernel<Products<3, true>>, Kernel<Products<4, true>>>{},
    adders(std::make_index_sequence<most_added>{})));

/// The batches of a rank's rows, and what they leave.
class Batches {
 public:
  /// Collective; outside of recordings. `space`: of the vectors; of a batch at most `most_products` are asked for, which take 8
  /// B each.
  Batches(Rank& rank, int space, i32 rows_a_batch, int most_products);
  Batches(const Batches&) = delete;

  /// Leaves the products a_i' b_j of every batch, or those with j >= i: a command that reads each vector once.
  void multiply(const std::vector<Vec>& a, const std::vector<Vec>& b, bool upper) const;
  /// Adds up, for each of `to`, what all batches left at a place: i * columns + j, of `of_batch` that each has. A command that
  /// starts a reduction of up to most_added values; `joins`: that travels with the next one.
  void add(int of_batch, const std::vector<i32>& at, const std::vector<Scal>& to, bool joins) const;

 private:
  Rank& rank_;
  EngineMemory memory_;
  double rows_, batches_;  // of the rank; batches as long as they should be, which those of small blocks are not
  int space_;              // whose rows are batches
  const i32* first_;
  Vec sums_;
};

}  // namespace sordino::gram
