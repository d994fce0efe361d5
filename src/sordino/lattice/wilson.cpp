#include "sordino/lattice/wilson.hpp"

namespace sordino::lattice {
namespace {

constexpr int even = 0, odd = 1;

void check(const Dslash& dslash) {
  if (dslash.precision() != Precision::double_precision)
    bad_argument("solvers compute in double precision: the links of a Wilson operator must be so, too");
}

}  // namespace

WilsonOperator::WilsonOperator(Rank& rank, const Box& box, std::shared_ptr<const LinkField> links, double kappa)
    : dslash_(rank, box, std::move(links), 2), kappa_(kappa) {
  check(dslash_);
}

void WilsonOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  dslash_.apply(rank, {.x = x, .y = y, .z = x, .pushed = x}, -kappa_, even, epilogue);
}

EvenOddOperator::EvenOddOperator(Rank& rank, const Box& box, std::shared_ptr<const LinkField> links, double kappa)
    : dslash_(rank, box, std::move(links), 1), kappa_(kappa), odd_(rank.vector("odd sites", dslash_.space())) {
  check(dslash_);
}

void EvenOddOperator::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  dslash_.apply(rank, {.x = x, .y = odd_}, 1, odd);
  dslash_.apply(rank, {.x = odd_, .y = y, .z = x, .pushed = x}, -kappa_ * kappa_, even, epilogue);
}

void EvenOddOperator::eliminate(Rank& rank, Vec b_even, Vec b_odd, Vec to) const {
  dslash_.apply(rank, {.x = b_odd, .y = to, .z = b_even}, kappa_, even);
}

void EvenOddOperator::substitute(Rank& rank, Vec b_odd, Vec x_even, Vec x_odd) const {
  dslash_.apply(rank, {.x = x_even, .y = x_odd, .z = b_odd}, kappa_, odd);
}

}  // namespace sordino::lattice
