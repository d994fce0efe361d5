// A command's functor behind one virtual interface. CPU engines call these members; the cuda engine takes type() as the key of
// its table of kernels and copies functor() into the launch. The functor is the only thing that knows arithmetic.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>

#include "sordino/base/status.hpp"
#include "sordino/runtime/fields.hpp"
#include "sordino/runtime/handles.hpp"
#include "sordino/runtime/sum_order.hpp"

namespace sordino {

/// Where the logical scalars of one phase of a rotation live on a CPU engine.
struct ScalarView {
  double* value;             // [physical]
  char* known;               // [physical]
  const int* physical;       // [logical]
  const std::string* names;  // [logical]
};
double load_scalar(const ScalarView& s, int logical);  // throws if it never got a value
inline void store_scalar(const ScalarView& s, int logical, double v) {
  s.value[s.physical[logical]] = v;
  s.known[s.physical[logical]] = 1;
}

using VectorTable = std::function<double*(int logical)>;

class Body {
 public:
  virtual ~Body() = default;
  virtual std::unique_ptr<Body> bind(const VectorTable& vectors) const = 0;  // a copy whose handles are pointers
  virtual void head(const ScalarView& scalars) = 0;                          // loads Gets, runs head(), stores Puts
  virtual void rows(i32 begin, i32 end, double* sums) = 0;                   // adds the rows' sums to sums[K]
  virtual void host(const ScalarView&) {}                                    // runs a host task (host_task.hpp)
  virtual const std::type_info& type() const = 0;
  virtual const void* functor() const = 0;
};

/// An exit test: a functor with Get fields, `int test()` (a Verdict) and `double value()` (goes into the history).
class Test {
 public:
  virtual ~Test() = default;
  virtual Verdict test(const ScalarView& scalars, double* value) = 0;
  virtual std::unique_ptr<Test> copy() const = 0;
  virtual const std::type_info& type() const = 0;
  virtual const void* functor() const = 0;
};

namespace detail {
template <class R>
struct SumCount {
  static constexpr int value = 0;
};
template <int K>
struct SumCount<Sums<K>> {
  static constexpr int value = K;
};
template <class F>
constexpr int sum_count() {
  if constexpr (requires(F f) { f.row(i32{}); })
    return SumCount<decltype(std::declval<F&>().row(i32{}))>::value;
  else
    return 0;
}
template <class T>
concept VectorField = requires(T t) {
  t.p;
  t.id;
};

/// On a CPU: computes many rows together, where that is faster, with block(begin, end); done(i) is what is left of row i.
template <class F>
concept ComputesBlocks = requires(F f) { f.block(0, 0); };

/// On a CPU: adds the sums of up to running_sums rows, each to a running one of its own, where that is faster sum by sum.
template <class F, int K>
concept AddsRows = requires(F f, double (&running)[K][running_sums]) { f.add(i32{}, int{}, running); };

template <class F>
auto row_of(F& f, i32 i) {
  if constexpr (ComputesBlocks<F>)
    return f.done(i);
  else
    return f.row(i);
}
}  // namespace detail

inline constexpr i32 block_rows = 512;  // of a block, whose results stay in the first cache

/// How many sums the rows of functor F return.
template <class F>
inline constexpr int sums_of = detail::sum_count<F>();

template <class F>
class BodyOf final : public Body {
  static_assert(std::is_trivially_copyable_v<F>, "a functor is copied to the device as bytes");

 public:
  explicit BodyOf(const F& f) : f_(f) {}

  std::unique_ptr<Body> bind(const VectorTable& vectors) const override {
    auto copy = std::make_unique<BodyOf>(f_);
    each_field(copy->f_, [&](auto& x) {
      if constexpr (detail::VectorField<std::decay_t<decltype(x)>>)
        x.p = x.id < 0 ? nullptr : reinterpret_cast<decltype(x.p)>(vectors(x.id));
    });
    return copy;
  }

  void head(const ScalarView& scalars) override {
    each_field(f_, [&](auto& x) {
      if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Get>) x.v = load_scalar(scalars, x.id);
    });
    if constexpr (requires { f_.head(); }) f_.head();
    each_field(f_, [&](auto& x) {
      if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Put>) store_scalar(scalars, x.id, x.v);
    });
  }

  // In the order of sum_order.hpp.
  void rows(i32 begin, i32 end, double* sums) override {
    if constexpr (requires { f_.row(begin); }) {
      F f = f_;  // a local copy: stores through its pointers cannot alias it
      if constexpr (K == 0 && !detail::ComputesBlocks<F>) {
#pragma GCC ivdep
        for (i32 i = begin; i < end; i++) f.row(i);
      } else if constexpr (K == 0) {
        for (i32 first = begin, here; first < end; first += here) {
          here = std::min(block_rows, end - first);
          f.block(first, first + here);
          for (i32 i = first; i < first + here; i++) f.done(i);
        }
      } else {
        double running[K][running_sums] = {};
        for (i32 first = begin; first < end; first += running_sums) {
          int here = std::min(running_sums, end - first);
          if constexpr (detail::ComputesBlocks<F>)
            if ((first - begin) % block_rows == 0) f.block(first, first + std::min(block_rows, end - first));
          if constexpr (detail::AddsRows<F, K>) {
            f.add(first, here, running);
            continue;
          }
          for (int l = 0; l < here; l++) {
            auto s = detail::row_of(f, first + l);
            for (int k = 0; k < K; k++) running[k][l] += s.v[k];
          }
        }
        for (int k = 0; k < K; k++) sums[k] += fold(running[k], end - begin);
      }
    }
  }

  const std::type_info& type() const override { return typeid(F); }
  const void* functor() const override { return &f_; }

 private:
  static constexpr int K = sums_of<F>;
  F f_;
};

template <class T>
class TestOf final : public Test {
  static_assert(std::is_trivially_copyable_v<T>, "an exit test is copied to the device as bytes");

 public:
  explicit TestOf(const T& t) : t_(t) {}
  Verdict test(const ScalarView& scalars, double* value) override {
    each_field(t_, [&](auto& x) {
      if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Get>) x.v = load_scalar(scalars, x.id);
    });
    *value = t_.value();
    return Verdict(t_.test());
  }
  std::unique_ptr<Test> copy() const override { return std::make_unique<TestOf>(t_); }
  const std::type_info& type() const override { return typeid(T); }
  const void* functor() const override { return &t_; }

 private:
  T t_;
};

}  // namespace sordino
