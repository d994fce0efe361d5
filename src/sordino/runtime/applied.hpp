// Operators hand over a row functor: `sum(i, lane, lanes)` is the part of row i that one of `lanes` cooperating threads
// computes, `store(i, y)` keeps the result. On a CPU there is one lane, which takes the entries in their stored order.
#pragma once
#include "sordino/runtime/handles.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// What a dot product takes from memory for a row.
struct Operands {
  double a, b;
};

/// One operand pair of a dot product in an operator's epilogue; an unset operand is the row's own result, from its register.
struct DotPair {
  In a, b;
  SORDINO_HD Operands load(i32 i) const { return {a.p ? a[i] : 0, b.p ? b[i] : 0}; }
  SORDINO_HD double product(i32, const Operands& o, double y) const { return (a.p ? o.a : y) * (b.p ? o.b : y); }
  SORDINO_HD double product(i32 i) const { return a[i] * b[i]; }  // of two vectors
};

/// The same of complex vectors, whose words the rows are. A row functor whose results may be such words says `turns`.
struct TurnedPair {
  In a, b;
  Turn turn = Turn::none;
  SORDINO_HD Operands load(i32 i) const {
    bool other = turn == Turn::by_i || turn == Turn::conjugate_by_i;
    return {a.p ? a[i] : 0, b.p ? b[other ? i ^ 1 : i] : 0};
  }
  SORDINO_HD double product(i32 i, const Operands& o, double y) const {
    bool odd = i & 1;
    double word = b.p ? o.b : y;
    bool negative = odd ? turn == Turn::conjugate : turn == Turn::by_i;
    return (a.p ? o.a : y) * (negative ? -word : word);
  }
  SORDINO_HD double product(i32 i) const { return product(i, load(i), 0); }
};

/// A row functor with K dot products of its result.
template <class RowFunctor, int K, class Pair = DotPair>
struct Applied {
  static constexpr int lanes = RowFunctor::lanes;
  static constexpr const char* name = RowFunctor::name;
  static constexpr int resident_blocks = [] {
    if constexpr (requires { RowFunctor::resident_blocks; })
      return RowFunctor::resident_blocks;
    else
      return 6;
  }();
  static constexpr bool warps_meet = requires { RowFunctor::warps_meet; };
  static constexpr bool collects = K == 0;  // what the command before it has started (runtime/cuda/collect.cuh)
  RowFunctor f;
  Pair dots[K > 0 ? K : 1];

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    f.fields(visit);
    for (int k = 0; k < K; k++) {
      visit(dots[k].a);
      visit(dots[k].b);
    }
  }
  template <class V>
  void last_uses(V&& visit) const
    requires requires { f.last_uses(visit); }
  {
    f.last_uses(visit);
  }
  SORDINO_HD Sums<1> part(i32 i, int lane, int lane_count) { return {{f.sum(i, lane, lane_count)}}; }
  SORDINO_HD Sums<K> finish(i32 i, const Sums<1>& y) { return store(i, y.v[0], operands(i)); }
  /// Operands of dot products are loaded beside the row's entries. Behind the store of its result a thread would wait for
  /// memory once more, for all a compiler knows they could be what is stored.
  SORDINO_HD Sums<K> row(i32 i) {
    const auto loaded = operands(i);
    return store(i, f.sum(i, 0, 1), loaded);
  }
  /// A row functor that computes rows together on a CPU has stored them in y.
  void block(i32 begin, i32 end)
    requires requires { f.products(f.x, f.y, begin, end); }
  {
    f.products(f.x, f.y, begin, end);
  }
  Sums<K> done(i32 i) { return finish(i, {{f.y[i]}}); }
  auto cost() const { return f.cost(); }

 private:
  struct AllOperands {
    Operands of[K > 0 ? K : 1];
  };
  SORDINO_HD AllOperands operands(i32 i) const {
    AllOperands all{};
    for (int k = 0; k < K; k++) all.of[k] = dots[k].load(i);
    return all;
  }
  SORDINO_HD Sums<K> store(i32 i, double y, const AllOperands& loaded) {
    f.store(i, y);
    Sums<K> s{};
    for (int k = 0; k < K; k++) s.v[k] = dots[k].product(i, loaded.of[k], y);
    return s;
  }
};

/// Dot products alone.
template <int K, class Pair = DotPair>
struct Dots {
  static constexpr double flops = 2 * K;
  Pair dots[K];
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    for (int k = 0; k < K; k++) {
      visit(dots[k].a);
      visit(dots[k].b);
    }
  }
  SORDINO_HD Sums<K> row(i32 i) {
    Sums<K> s;
    for (int k = 0; k < K; k++) s.v[k] = dots[k].product(i);
    return s;
  }
};

/// No arithmetic: only waits, tests or sends.
struct Nothing {};

/// Only ends a reduction.
struct WaitFor {
  static constexpr const char* name = "Wait";
  Get g;
};

/// Bytes and flops of a command beyond what its vector fields say: an operator's own arrays, on this rank.
struct Cost {
  double bytes = 0, flops = 0;
};

/// The rows of a vector, as they are, into those of another one of the same space.
struct CopyRows {
  static constexpr const char* name = "Copy";
  In from;
  Out to;
  SORDINO_HD void row(i32 i) { to[i] = from[i]; }
};

/// `count` rows of a vector into others `shift` rows on, perhaps of another space.
struct CopyPart {
  static constexpr const char* name = "Copy";
  Foreign<const double, Access::read> from;
  Out to;
  i32 shift, count;
  SORDINO_HD void row(i32 i) { to[i] = from[i - shift]; }
  Cost cost() const { return {8.0 * count, 0}; }
};

/// What any program may record; the cuda engine enables these kernels itself.
using CommonKernels =
    KernelList<Kernel<Nothing>, Kernel<WaitFor>, Kernel<Dots<1>>, Kernel<Dots<2>>, Kernel<Dots<3>>, Kernel<Dots<4>>,
               Kernel<Dots<2, TurnedPair>>, Kernel<Dots<3, TurnedPair>>, Kernel<CopyRows>, Kernel<CopyPart>>;

}  // namespace sordino
