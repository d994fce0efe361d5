#include "sordino/precond/multigrid.hpp"

#include "sordino/linalg/epilogue.hpp"
#include "sordino/precond/grid_transfers.hpp"

namespace sordino {
struct Multigrid::Level {
  std::unique_ptr<CsrOperator> own;  // but for the first one
  const Operator& A;
  Jacobi jacobi;
  ChebyshevOperator smooth;
  std::unique_ptr<LevelTransfer> transfer;    // to the next level, and from there
  Vec b, x, corrected, Ax, again_b, again_x;  // b and x of this level's own, and of a second visit

  Level(Rank& rank, std::unique_ptr<CsrOperator> coarse, const Operator& of, const MultigridLevels& levels, int l, Cycle cycle)
      : own(std::move(coarse)),
        A(of),
        jacobi(rank, levels.matrix(l), A.space()),
        smooth(rank, A, jacobi.diagonal(), levels.degree(), levels.bound(l), levels.interval()),
        x(A.operand(rank, "x of a level")),
        corrected(A.operand(rank, "corrected x")) {
    if (l == 0) return;
    b = rank.vector("b of a level", A.space());
    if (cycle == Cycle::v) return;
    Ax = A.result(rank, "A x of a level");
    again_b = rank.vector("b of a second visit", A.space());
    again_x = A.operand(rank, "x of a second visit");
  }
};

Cycle cycle_of(const std::string& word) {
  if (word == "v") return Cycle::v;
  if (word == "f") return Cycle::f;
  if (word == "w") return Cycle::w;
  bad_argument("there is no cycle '" + word + "'; there are v, f, w");
}

Multigrid::~Multigrid() = default;

Multigrid::Multigrid(Rank& rank, const Operator& A, std::shared_ptr<const MultigridLevels> levels, Cycle cycle)
    : A_(A), levels_(std::move(levels)), cycle_(cycle) {
  const MultigridLevels& g = *levels_;
  const int last = g.count() - 1;
  for (int l = 0; l < last; l++) {
    auto own = l == 0 ? nullptr : std::make_unique<CsrOperator>(rank, g.matrix(l), g.partition(l), g.diagonals(l));
    const Operator& of = own ? static_cast<const Operator&>(*own) : A;
    mine_.push_back(std::make_unique<Level>(rank, std::move(own), of, g, l, cycle));
  }
  const CsrView inverse = g.last_inverse().view();
  last_ = last == 0 ? std::make_unique<CsrOperator>(rank, inverse, g.partition(last), A.space())
                    : std::make_unique<CsrOperator>(rank, inverse, g.partition(last));
  for (int l = 0; l < last; l++)
    mine_[std::size_t(l)]->transfer = g.transfer(rank, l, mine_[std::size_t(l)]->A.space(), space(std::size_t(l + 1)));
  last_b_[0] = last_->operand(rank, "b of the last level");
  last_b_[1] = last_->operand(rank, "b of the last level, odd visits");
}

int Multigrid::space(std::size_t l) const { return l == mine_.size() ? last_->space() : mine_[l]->A.space(); }

void Multigrid::update_values(Rank& rank) {
  for (std::size_t l = 0; l < mine_.size(); l++) {
    Level& level = *mine_[l];
    if (level.own) level.own->update_values(rank, levels_->matrix(int(l)).values);
    level.jacobi.update_values(rank, levels_->matrix(int(l)));
    level.smooth.set_bound(rank, levels_->bound(int(l)));
    level.transfer->update_values(rank);
  }
  last_->update_values(rank, levels_->last_inverse().values.data());
}

void Multigrid::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  if (mine_.empty()) {
    const Vec b = last_b_[visits_++ % 2];
    rank.copy(r, b);
    rank.push_last(b);
    last_->apply(rank, b, z);
  } else {
    run(rank, cycle_, 0, r, mine_[0]->x, z);
  }
  record_dots(rank, epilogue);
}

/// One cycle for A to = b, from zero; `x` may be the same as `to`. What goes to the coarse level was left before the smoother's
/// last step, which then goes on beside it.
void Multigrid::run(Rank& rank, Cycle cycle, std::size_t l, Vec b, Vec x, Vec to) const {
  const Level& level = *mine_[l];
  const Vec left = level.transfer->residual();
  level.smooth.apply_and_leave(rank, b, x, left);
  rank.push_last(left);
  correct(rank, cycle, l, left, x);
  level.smooth.improve(rank, b, level.corrected, to);
}

/// corrected = x + P e, where e approximates what the next level's matrix makes of P^T times what was left.
void Multigrid::correct(Rank& rank, Cycle cycle, std::size_t l, Vec left, Vec x) const {
  const Level& level = *mine_[l];
  const bool is_last = l + 1 == mine_.size();
  const Vec to = is_last ? last_b_[visits_++ % 2] : mine_[l + 1]->b, e = level.transfer->correction();
  level.transfer->restrict_residual(rank, left, to);
  if (is_last) {
    rank.push_last(to);
    last_->apply(rank, to, e);
  } else {
    visit(rank, cycle, l + 1, e);
  }
  rank.push_last(e);
  level.transfer->add_correction(rank, e, x, level.corrected);
}

/// e = one cycle for the level's own b, or two, of which F's second is a V.
void Multigrid::visit(Rank& rank, Cycle cycle, std::size_t l, Vec e) const {
  const Level& level = *mine_[l];
  if (cycle == Cycle::v) return run(rank, cycle, l, level.b, level.x, e);
  run(rank, cycle, l, level.b, level.x, level.x);
  rank.push_last(level.x);
  level.A.apply(rank, level.x, level.Ax);
  rank.run(multigrid::Residual{.b = level.b, .Ax = level.Ax, .r = level.again_b});
  run(rank, cycle == Cycle::f ? Cycle::v : cycle, l, level.again_b, level.again_x, level.again_x);
  rank.run(multigrid::Add{.x = level.x, .y = level.again_x, .to = e});
}

i64 Multigrid::bytes() const {
  auto of = [](const CsrOperator& held) {
    const CsrSlice& s = held.slice();
    return held.bytes() + s.entries * i64(sizeof(double) + sizeof(i32)) + s.rows * i64(sizeof(i64));
  };
  i64 sum = of(*last_);
  for (const auto& level : mine_) sum += (level->own ? of(*level->own) : 0) + level->transfer->bytes();
  return sum;
}

}  // namespace sordino
