#include "sordino/precond/polynomial_smoother.hpp"

#include "sordino/precond/grid_transfers.hpp"

namespace sordino {

PolynomialSmoother::PolynomialSmoother(Rank& rank, const MultigridLevels& levels, int l, const Operator& A,
                                       Vec inverse_diagonal)
    : levels_(levels),
      level_(l),
      A_(A),
      jacobi_(A.is_single() || levels.made(l).is_given() ? nullptr
                                                         : std::make_unique<Jacobi>(rank, levels.matrix(l), A.space())),
      made_(levels.made(l).is_given()
                ? inverse_diagonal_of(rank, A.space(), levels.made(l).inverse_diagonal(rank.space(A.space()).first_row))
                : Vec{}),
      M_(rank, A,
         jacobi_                     ? jacobi_->diagonal()
         : levels.made(l).is_given() ? made_
                                     : inverse_diagonal,
         levels.degree(), levels.bound(l), levels.interval()) {}

void PolynomialSmoother::update_values(Rank& rank) {
  if (jacobi_) jacobi_->update_values(rank, levels_.matrix(level_));
  if (const MadeRows made = levels_.made(level_); made.is_given())
    rank.write(made_, made.inverse_diagonal(rank.space(A_.space()).first_row));
  M_.set_bound(rank, levels_.bound(level_));
}

void PolynomialSmoother::leave(Rank& rank, Vec b, Vec x, Vec to) const {
  rank.push_last(x);
  A_.apply(rank, x, M_.product());
  with_numbers(A_.is_single(), [&]<class V>(V) { rank.run(multigrid::Residual<V>{.b = b, .Ax = M_.product(), .r = to}); });
}

std::unique_ptr<LevelSmoother> MultigridLevels::smoother(Rank& rank, int l, const Operator& A, Vec inverse_diagonal) const {
  return std::make_unique<PolynomialSmoother>(rank, *this, l, A, inverse_diagonal);
}

SmootherSize MultigridLevels::smoother_size(int l, int rank, i64 ghosts, bool /*device*/) const {
  return PolynomialSmoother::size_of(degree(), partition(l).rows(rank), ghosts);
}

}  // namespace sordino
