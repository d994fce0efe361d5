// Visits the fields of a plain aggregate in order, without a macro and without listing them twice.
// An aggregate with an array member, or with more than 24 fields, gives a member `template fields(visit)` instead; so does a
// field that is a group of fields (runtime/columns.hpp).
#pragma once
#include <type_traits>
#include <utility>

#include "sordino/base/types.hpp"

namespace sordino {
namespace detail {

struct AnyField {
  template <class T>
  operator T() const;
};

template <class F, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { F{(void(I), AnyField{})...}; };
}

template <class F, std::size_t N = 24>
constexpr std::size_t field_count() {
  if constexpr (N == 0 || takes<F>(std::make_index_sequence<N>{}))
    return N;
  else
    return field_count<F, N - 1>();
}

template <class V, class X>
SORDINO_HD void visit_one(V& v, X& x) {
  if constexpr (requires { x.fields(v); })
    x.fields(v);
  else
    v(x);
}
template <class V, class... X>
SORDINO_HD void visit_all(V&& v, X&... x) {
  (visit_one(v, x), ...);
}

}  // namespace detail

template <class F, class V>
SORDINO_HD void each_field(F& f, V&& visit) {
  using detail::visit_all;
  if constexpr (requires { f.fields(visit); }) {
    f.fields(visit);
  } else {
    constexpr std::size_t n = detail::field_count<std::remove_const_t<F>>();
    // clang-format off
    if constexpr (n == 1)  { auto& [a] = f; visit_all(visit, a); }
    if constexpr (n == 2)  { auto& [a,b] = f; visit_all(visit, a,b); }
    if constexpr (n == 3)  { auto& [a,b,c] = f; visit_all(visit, a,b,c); }
    if constexpr (n == 4)  { auto& [a,b,c,d] = f; visit_all(visit, a,b,c,d); }
    if constexpr (n == 5)  { auto& [a,b,c,d,e] = f; visit_all(visit, a,b,c,d,e); }
    if constexpr (n == 6)  { auto& [a,b,c,d,e,g] = f; visit_all(visit, a,b,c,d,e,g); }
    if constexpr (n == 7)  { auto& [a,b,c,d,e,g,h] = f; visit_all(visit, a,b,c,d,e,g,h); }
    if constexpr (n == 8)  { auto& [a,b,c,d,e,g,h,i] = f; visit_all(visit, a,b,c,d,e,g,h,i); }
    if constexpr (n == 9)  { auto& [a,b,c,d,e,g,h,i,j] = f; visit_all(visit, a,b,c,d,e,g,h,i,j); }
    if constexpr (n == 10) { auto& [a,b,c,d,e,g,h,i,j,k] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k); }
    if constexpr (n == 11) { auto& [a,b,c,d,e,g,h,i,j,k,l] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l); }
    if constexpr (n == 12) { auto& [a,b,c,d,e,g,h,i,j,k,l,m] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m); }
    if constexpr (n == 13) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o); }
    if constexpr (n == 14) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p); }
    if constexpr (n == 15) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q); }
    if constexpr (n == 16) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r); }
    if constexpr (n == 17) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s); }
    if constexpr (n == 18) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t); }
    if constexpr (n == 19) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u); }
    if constexpr (n == 20) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v); }
    if constexpr (n == 21) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w); }
    if constexpr (n == 22) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w,x] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w,x); }
    if constexpr (n == 23) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w,x,y] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w,x,y); }
    if constexpr (n == 24) { auto& [a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w,x,y,z] = f; visit_all(visit, a,b,c,d,e,g,h,i,j,k,l,m,o,p,q,r,s,t,u,v,w,x,y,z); }
    // clang-format on
    static_assert(n <= 24, "more than 24 fields: give the functor a member fields(visit)");
  }
}

}  // namespace sordino
