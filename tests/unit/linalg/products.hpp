// Products of a distributed matrix, as tests of its layouts compare them.
#pragma once
#include <bit>

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;
using host::HostEngine;

namespace products {

constexpr double eps = 0x1p-53;

/// y = A x on an engine's ranks. `gathered`: on replicated vectors; what every rank got is in `all`.
struct Product {
  std::vector<double> y;
  std::vector<std::vector<double>> all;
};
struct Take {
  Whole from;
  Out to;
  SORDINO_HD void row(i32 i) { to[i] = from[i]; }
};

/// By what make(rank) returns: a pointer to the rank's operator.
template <class Make>
Product product_by(Engine& engine, const std::vector<double>& x, bool gathered, const Make& make) {
  Product out{std::vector<double>(x.size()), std::vector<std::vector<double>>(std::size_t(engine.size()))};
  engine.run([&](Rank& s) {
    auto op = make(s);
    Vec from = op->operand(s, "x"), to = op->result(s, "y"), copy = s.vector("copy", op->space());
    auto apply = s.record([&] {
      s.run(Nothing{}, push(from));
      op->apply(s, from, to);
      s.run(Take{to, copy});
    });
    const Space& space = s.space(op->space());
    s.write(from, x.data() + space.first_row);
    s.replay(apply);
    auto& mine = out.all[std::size_t(s.id())];
    mine.resize(std::size_t(space.rows));
    s.read(copy, mine.data());
    std::copy(mine.begin(), mine.end(), gathered && s.id() > 0 ? mine.begin() : out.y.begin() + space.first_row);
  });
  return out;
}

inline Product product(Engine& engine, const CsrView& A, const Partition& p, const std::vector<double>& x, bool gathered,
                       const Diagonals& diagonals) {
  return product_by(engine, x, gathered, [&](Rank& s) {
    return gathered ? CsrOperator::gathered(s, A, p, diagonals) : std::make_unique<CsrOperator>(s, A, p, diagonals);
  });
}

inline Product product(Engine& engine, const CsrView& A, const std::vector<double>& x, bool gathered = false,
                       const Diagonals& diagonals = {}) {
  return product(engine, A, balance(A, engine.size()), x, gathered, diagonals);
}

inline Product on_host(const CsrView& A, const std::vector<double>& x, int ranks, bool gathered = false,
                       const Diagonals& diagonals = {}) {
  HostEngine engine({.ranks = ranks, .timeout = 20});
  return product(engine, A, x, gathered, diagonals);
}

inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double s, double t) { return std::bit_cast<u64>(s) == std::bit_cast<u64>(t); });
}

inline void check_product(const CsrView& A, const std::vector<double>& x, const std::vector<double>& y) {
  auto e = matrices::exact_product(A, x);
  for (i64 i = 0; i < A.n; i++) {
    double terms = double(A.indptr[i + 1] - A.indptr[i]);
    CHECK_NEAR((long double)y[std::size_t(i)], e.y[std::size_t(i)], e.size[std::size_t(i)] * terms * eps);
  }
}

}  // namespace products

using namespace products;
