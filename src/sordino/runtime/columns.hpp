// Scalars and vectors of C columns that go together, so that functors and methods are written once: of a number V, which is a
// double where there is one system, and Several<double, C> where there are several. Vectors of columns lie interleaved,
// [rows][C], on a space with Space::numbers, over which their functors run.
#pragma once
#include <string>

#include "sordino/base/several.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// A scalar of each column.
template <int C>
struct Scals {
  Scal of[C];
};
template <int C>
struct FinishEach {
  Scals<C> scalars;
};
/// "The reduction into them ends here": all columns' sums go into one.
template <int C>
FinishEach<C> finish(const Scals<C>& scalars) {
  return {scalars};
}

/// A group of fields.
template <int C>
struct Gets {
  Get of[C];
  Gets() = default;
  Gets(const Scals<C>& scalars) {
    for (int c = 0; c < C; c++) of[c] = scalars.of[c];
  }
  Gets(const FinishEach<C>& f) : Gets(f.scalars) { of[0] = finish(f.scalars.of[0]); }
  SORDINO_HD operator Several<double, C>() const {
    Several<double, C> values;
    for (int c = 0; c < C; c++) values.at[c] = of[c];
    return values;
  }
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    for (Get& get : of) visit(get);
  }
};

template <int C>
struct Puts {
  Put of[C];
  Puts() = default;
  Puts(const Scals<C>& scalars) {
    for (int c = 0; c < C; c++) of[c] = scalars.of[c];
  }
  SORDINO_HD void operator=(const Several<double, C>& values) {
    for (int c = 0; c < C; c++) of[c] = values.at[c];
  }
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    for (Put& put : of) visit(put);
  }
};

namespace detail {
template <class V>
struct Handles {
  using Scalar = Scal;
  using GetIt = Get;
  using PutIt = Put;
  template <class T, Access how>
  using Vector = Field<T, how>;
};
template <int C>
struct Handles<Several<double, C>> {
  using Scalar = Scals<C>;
  using GetIt = Gets<C>;
  using PutIt = Puts<C>;
  template <class T, Access how>
  using Vector = NumberField<T, how>;
};
}  // namespace detail

template <class V>
using ScalOf = typename detail::Handles<V>::Scalar;
template <class V>
using GetOf = typename detail::Handles<V>::GetIt;
template <class V>
using PutOf = typename detail::Handles<V>::PutIt;
template <class V>
using InOf = typename detail::Handles<V>::template Vector<const V, Access::read>;
template <class V>
using OutOf = typename detail::Handles<V>::template Vector<V, Access::write>;
template <class V>
using InOutOf = typename detail::Handles<V>::template Vector<V, Access::update>;

/// As Rank::scalar, with a value where there is one.
template <class V, class... Value>
ScalOf<V> scalar_of(Rank& rank, const std::string& name, Value... value) {
  if constexpr (std::is_same_v<V, double>) {
    return rank.scalar(name, value...);
  } else {
    ScalOf<V> all;
    int c = 0;
    for (Scal& of : all.of) of = rank.scalar(name + " of column " + std::to_string(c++), value...);
    return all;
  }
}

/// One of those that a reduction ends in, to wait for all.
inline Scal any(Scal s) { return s; }
template <int C>
Scal any(const Scals<C>& s) {
  return s.of[0];
}

/// Names that trade places, column by column.
inline std::vector<std::vector<Scal>> trade(Scal a, Scal b) { return {{a, b}}; }
template <int C>
std::vector<std::vector<Scal>> trade(const Scals<C>& a, const Scals<C>& b) {
  std::vector<std::vector<Scal>> pairs;
  for (int c = 0; c < C; c++) pairs.push_back({a.of[c], b.of[c]});
  return pairs;
}

/// What a row adds to the sums of each column, and where these go: as many sums of columns as there are arguments.
inline SORDINO_HD Sums<1> summed(double a) { return {{a}}; }
inline SORDINO_HD Sums<2> summed(double a, double b) { return {{a, b}}; }
template <int C, class... S>
SORDINO_HD auto summed(const Several<double, C>& a, const S&... others) {
  Sums<C * (1 + int(sizeof...(S)))> sums;
  int k = 0;
  auto take = [&](const Several<double, C>& of) {
    for (int c = 0; c < C; c++) sums.v[k++] = of.at[c];
  };
  take(a);
  (take(others), ...);
  return sums;
}
template <int C, class... S>
Start start(const Scals<C>& a, const S&... others) {
  Start all;
  auto take = [&](const Scals<C>& of) { all.to.insert(all.to.end(), of.of, of.of + C); };
  take(a);
  (take(others), ...);
  return all;
}

/// Dot products of each column.
template <int C>
struct DotEach {
  Vec a, b;
  Scals<C> to;
};
template <int C>
DotEach<C> operator>>(Dot d, const Scals<C>& to) {
  return {d.a, d.b, to};
}

}  // namespace sordino
