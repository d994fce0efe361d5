// Device code: how a triangular solve loads and exchanges its numbers.
#pragma once
#include <type_traits>

#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// Two rows of a column.
template <class V>
struct alignas(sizeof(V) < 16 ? 2 * sizeof(V) : 16) Pair {
  V a, b;
};

/// From memory, to be used once.
__device__ __forceinline__ Pair<float> load_values(const float* p) {
  const float2 v = __ldcs(reinterpret_cast<const float2*>(p));
  return {v.x, v.y};
}
__device__ __forceinline__ Pair<double> load_values(const double* p) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p));
  return {v.x, v.y};
}
__device__ __forceinline__ Pair<Number> load_values(const Number* p) {
  const double2 v = __ldcs(reinterpret_cast<const double2*>(p)), w = __ldcs(reinterpret_cast<const double2*>(p + 1));
  return {{v.x, v.y}, {w.x, w.y}};
}

/// What other blocks, or devices, have written: not from a cache of this multiprocessor.
__device__ __forceinline__ float load_shared_by_all(const float* p) { return __ldcg(p); }
__device__ __forceinline__ double load_shared_by_all(const double* p) { return __ldcg(p); }
__device__ __forceinline__ Number load_shared_by_all(const Number* p) {
  const double2 v = __ldcg(reinterpret_cast<const double2*>(p));
  return {v.x, v.y};
}

// --- numbers that say themselves whether they are there ----------------------------------------------------------------------
//
// A place that nobody has written in this pass holds a word of ones, a NaN that no arithmetic makes. Who reads it again until
// it holds something else needs no flag, and who writes it no fence: words are written as a whole.

template <class V>
using WordOf = std::conditional_t<sizeof(V) == 4, u32, u64>;
/// If it is wanted; there is no branch, so that several are on their way at once.
__device__ __forceinline__ void load_relaxed_pair(bool wanted, const u32* p, u32& a, u32& b) {
  asm volatile("{ .reg .pred w; setp.ne.u32 w, %3, 0; @w ld.relaxed.sys.global.v2.u32 {%0, %1}, [%2]; }"
               : "+r"(a), "+r"(b)
               : "l"(p), "r"(u32(wanted)));
}
__device__ __forceinline__ void load_relaxed_pair(bool wanted, const u64* p, u64& a, u64& b) {
  asm volatile("{ .reg .pred w; setp.ne.u32 w, %3, 0; @w ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2]; }"
               : "+l"(a), "+l"(b)
               : "l"(p), "r"(u32(wanted)));
}
__device__ __forceinline__ void load_relaxed_word(bool wanted, const u32* p, u32& a) {
  asm volatile("{ .reg .pred w; setp.ne.u32 w, %2, 0; @w ld.relaxed.sys.global.u32 %0, [%1]; }"
               : "+r"(a)
               : "l"(p), "r"(u32(wanted)));
}
__device__ __forceinline__ void load_relaxed_word(bool wanted, const u64* p, u64& a) {
  asm volatile("{ .reg .pred w; setp.ne.u32 w, %2, 0; @w ld.relaxed.sys.global.u64 %0, [%1]; }"
               : "+l"(a)
               : "l"(p), "r"(u32(wanted)));
}
__device__ __forceinline__ void store_relaxed_pair(u32* p, u32 a, u32 b) {
  asm volatile("st.relaxed.sys.global.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(a), "r"(b) : "memory");
}
__device__ __forceinline__ void store_relaxed_pair(u64* p, u64 a, u64 b) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(a), "l"(b) : "memory");
}
__device__ __forceinline__ void store_relaxed_word(u32* p, u32 a) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(a) : "memory");
}
__device__ __forceinline__ void store_relaxed_word(u64* p, u64 a) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(a) : "memory");
}

/// A row of K numbers, as words.
template <class V, int K>
struct RowWords {
  static constexpr int count = int(sizeof(V) * K / sizeof(WordOf<V>));
  WordOf<V> words[count] = {};

  __device__ __forceinline__ void load(bool wanted, const V* from) {
    const auto* const p = reinterpret_cast<const WordOf<V>*>(from);
    if constexpr (count == 1)
      load_relaxed_word(wanted, p, words[0]);
    else
#pragma unroll
      for (int k = 0; k < count; k += 2) load_relaxed_pair(wanted, p + k, words[k], words[k + 1]);
  }
  __device__ __forceinline__ bool is_there() const {
    bool there = true;
#pragma unroll
    for (int k = 0; k < count; k++) there = there && words[k] != WordOf<V>(-1);
    return there;
  }
  __device__ __forceinline__ void add_to(V (&sum)[K]) const {
    V row[K];
    memcpy(row, words, sizeof row);
#pragma unroll
    for (int r = 0; r < K; r++) sum[r] = sum[r] + row[r];
  }
};

/// A row of numbers that are known to be there.
template <class V, int K>
__device__ __forceinline__ void load_row(const V* from, V (&to)[K]) {
  RowWords<V, K> row;
  row.load(true, from);
  memcpy(to, row.words, sizeof to);
}
template <class V, int K>
__device__ __forceinline__ void store_row(V* to, const V (&row)[K]) {
  constexpr int count = RowWords<V, K>::count;
  auto* const p = reinterpret_cast<WordOf<V>*>(to);
  WordOf<V> words[count];
  memcpy(words, row, sizeof words);
  if constexpr (count == 1)
    store_relaxed_word(p, words[0]);
  else
#pragma unroll
    for (int k = 0; k < count; k += 2) store_relaxed_pair(p + k, words[k], words[k + 1]);
}
/// For the next pass: nobody has written it.
template <class V, int K>
__device__ __forceinline__ void empty_row(V* to) {
  constexpr int count = RowWords<V, K>::count;
  auto* const p = reinterpret_cast<WordOf<V>*>(to);
  constexpr WordOf<V> ones = WordOf<V>(-1);
  if constexpr (count == 1)
    store_relaxed_word(p, ones);
  else
#pragma unroll
    for (int k = 0; k < count; k += 2) store_relaxed_pair(p + k, ones, ones);
}

template <class V>
__device__ __forceinline__ V shuffle_xor(V a, int lane) {
  return __shfl_xor_sync(~0u, a, lane);
}
__device__ __forceinline__ Number shuffle_xor(Number a, int lane) {
  return {__shfl_xor_sync(~0u, a.re, lane), __shfl_xor_sync(~0u, a.im, lane)};
}
template <class V>
__device__ __forceinline__ V shuffle_down(V a, int by) {
  return __shfl_down_sync(~0u, a, by);
}
__device__ __forceinline__ Number shuffle_down(Number a, int by) {
  return {__shfl_down_sync(~0u, a.re, by), __shfl_down_sync(~0u, a.im, by)};
}

}  // namespace sordino::trsv
