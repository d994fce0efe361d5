// Templates of Rank: a functor's field types become the command's reads, writes, bytes and hazards.
#pragma once
#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace sordino {
namespace detail {

/// "sordino::cg::Update" -> "Update"
template <class F>
std::string type_name() {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(typeid(F).name(), nullptr, nullptr, &status), std::free);
  std::string s = text ? text.get() : typeid(F).name();
  s = s.substr(0, s.find('<'));
  return s.substr(s.rfind(':') == std::string::npos ? 0 : s.rfind(':') + 1);
}

template <class F>
std::string command_name() {
  if constexpr (requires { F::name; })
    return F::name;
  else
    return type_name<F>();
}

/// Whether results of a row functor may be words of complex numbers.
template <class F>
constexpr bool turns() {
  if constexpr (requires { F::turns; })
    return F::turns;
  else
    return false;
}

template <class T>
constexpr Lies lies() {
  if constexpr (requires { T::foreign; })
    return Lies::elsewhere;
  else
    return requires { T::numbers; } ? Lies::in_numbers : Lies::in_rows;
}

}  // namespace detail

template <class F>
Command Rank::scan(F& functor, int space) {
  Command c;
  c.name = detail::command_name<F>();
  c.space = space;
  row_bytes_ = 0;
  each_field(functor, [&](auto& x) {
    using T = std::decay_t<decltype(x)>;
    if constexpr (detail::VectorField<T>) use_vector(c, x.id, T::access, detail::lies<T>(), sizeof(*x.p));
    if constexpr (requires { x.n_segments; })
      if (x.id >= 0) {
        c.sends.push_back(x.id);
        c.sent_words.push_back(T::words);
        c.pushes.push_back(x.id);
      }
    if constexpr (std::is_same_v<T, Get>)
      if (!x.last) (x.finishes ? c.finishes : c.gets).push_back(x.id);
    if constexpr (std::is_same_v<T, Put>) c.puts.push_back(x.id);
  });
  auto goes_first = [&](const auto& x) {
    if (x.id >= 0) c.last_uses.push_back(x.id);
  };
  if constexpr (requires { functor.last_uses(goes_first); }) functor.last_uses(goes_first);
  return c;
}

template <class T>
void Rank::collect_test_gets(T& test) {
  each_field(test, [&](auto& x) {
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Get>)
      if (!x.last) (x.finishes ? test_finishes_ : test_gets_).push_back(x.id);
  });
}

template <class F, class... E>
Event Rank::record_command(F functor, int space, const Split* split, E... epilogues) {
  Command c = scan(functor, space);
  c.sums = sums_of<F>;
  (add_epilogue(c, epilogues), ...);
  if (c.sums > 0 && c.starts < 0) bad_argument(c.name + ": its rows return sums, but no reduction is started with them");
  if constexpr (requires { functor.cost(); }) {
    Cost cost = functor.cost();
    c.bytes = cost.bytes;
    c.flops = cost.flops;
  }
  double row_flops = 0;
  if constexpr (requires { F::flops; }) row_flops = F::flops;
  if constexpr (requires(F f, i32 i) { f.row(i); }) c.groups.emplace_back();  // commit() fills it
  c.body = std::make_shared<BodyOf<F>>(functor);
  return commit(std::move(c), split, row_flops);
}

template <int K, class RowFunctor>
void Rank::apply_turned(RowFunctor f, const Split* split, Vec y, const StartDots& epilogue) {
  if constexpr (!detail::turns<RowFunctor>()) {
    bad_argument("a complex product with the result of a real operator");
  } else {
    auto operand = [&](Vec v) { return v.id == y.id ? In{} : In{v}; };
    Applied<RowFunctor, K, TurnedPair> a{f, {}};
    Start to;
    for (int k = 0; k < K; k++) {
      const DotTo& d = epilogue.dots[k];
      if (d.b.id == y.id && d.turn != Turn::none) bad_argument("the operand that is turned is the operator's result");
      a.dots[k] = {operand(d.a), operand(d.b), d.turn};
      to.to.push_back(d.to);
    }
    record_command(a, space_of_fields, split, to);
  }
}

template <class RowFunctor>
void Rank::apply_rows(RowFunctor f, const Split* split, Vec y, const StartDots& epilogue) {
  auto operand = [&](Vec v) { return v.id == y.id ? In{} : In{v}; };
  bool turns = false;
  for (auto& d : epilogue.dots) turns |= d.turn != Turn::none;
  auto with = [&]<int K>(std::integral_constant<int, K>) {
    if constexpr (K == 2 || K == 3)
      if (turns) return apply_turned<K>(f, split, y, epilogue);
    if (turns) bad_argument("an operator's epilogue takes 2 or 3 dot products where complex ones are among them");
    Applied<RowFunctor, K> a{f, {}};
    Start to;
    for (int k = 0; k < K; k++) {
      a.dots[k] = {operand(epilogue.dots[k].a), operand(epilogue.dots[k].b)};
      to.to.push_back(epilogue.dots[k].to);
    }
    if constexpr (K == 0)
      record_command(a, space_of_fields, split);
    else
      record_command(a, space_of_fields, split, to);
  };
  switch (epilogue.dots.size()) {
    case 0: return with(std::integral_constant<int, 0>{});
    case 1: return with(std::integral_constant<int, 1>{});
    case 2: return with(std::integral_constant<int, 2>{});
    case 3: return with(std::integral_constant<int, 3>{});
    default: bad_argument("an operator's epilogue takes at most 3 dot products");
  }
}

}  // namespace sordino
