#include "sordino/precond/multigrid.hpp"

#include "sordino/linalg/epilogue.hpp"

namespace sordino {
namespace {

constexpr int smoothing = 2;    // degree of the polynomial: three terms
constexpr double smoothed = 4;  // ratio of the ends of what it is least on

/// Of a rank's layers of two levels.
TransferShape shape_of(const GridLevel& fine, const GridLevel& coarse, int rank) {
  TransferShape shape{};
  const auto fill = [&](const GridLevel& level, i32(&to)[3]) {
    i64 rows = level.partition.rows(rank);
    for (std::size_t d = 0; d < 3; d++) {
      to[d] = i32(std::min(level.cells[d], rows));
      rows /= to[d];
    }
  };
  fill(fine, shape.fine);
  fill(coarse, shape.coarse);
  for (std::size_t d = 0; d < 3; d++) shape.step[d] = i32(fine.step[d]);
  return shape;
}

}  // namespace

struct Multigrid::Level {
  std::unique_ptr<CsrOperator> own;  // but for the first one
  const Operator& A;
  Jacobi jacobi;
  ChebyshevOperator smooth;
  TransferShape shape;
  Vec takes_part, b, x, corrected, Ax, r, y, again_b, again_x;  // b and x of this level's own, of a second visit, too

  Level(Rank& rank, std::unique_ptr<CsrOperator> coarse, const Operator& of, const GridLevels& levels, int l, Cycle cycle)
      : own(std::move(coarse)),
        A(of),
        jacobi(rank, levels.matrix(l), A.space()),
        smooth(rank, A, jacobi.diagonal(), smoothing, levels.level(l).bound, smoothed),
        shape(shape_of(levels.level(l), levels.level(l + 1), rank.id())),
        takes_part(rank.vector("takes part", A.space())),
        x(A.operand(rank, "x of a level")),
        corrected(A.operand(rank, "corrected x")),
        Ax(A.result(rank, "A x of a level")),
        r(rank.vector("r of a level", A.space())),
        y(A.operand(rank, "correction")) {
    if (l == 0) return;
    b = rank.vector("b of a level", A.space());
    if (cycle == Cycle::v) return;
    again_b = rank.vector("b of a second visit", A.space());
    again_x = A.operand(rank, "x of a second visit");
  }
  void take(Rank& rank, const GridLevel& level) const {
    rank.write(takes_part, level.takes_part.data() + level.partition.first_row(rank.id()));
  }
};

Multigrid::~Multigrid() = default;

Multigrid::Multigrid(Rank& rank, const Operator& A, std::shared_ptr<const GridLevels> levels, Cycle cycle)
    : A_(A), levels_(std::move(levels)), cycle_(cycle) {
  const GridLevels& g = *levels_;
  for (int l = 0; l + 1 < g.count(); l++) {
    auto own = l == 0 ? nullptr : std::make_unique<CsrOperator>(rank, g.matrix(l), g.level(l).partition, g.level(l).diagonals);
    const Operator& of = own ? static_cast<const Operator&>(*own) : A;
    mine_.push_back(std::make_unique<Level>(rank, std::move(own), of, g, l, cycle));
    mine_.back()->take(rank, g.level(l));
  }
  const Partition& partition = g.level(g.count() - 1).partition;
  last_ = g.count() == 1 ? std::make_unique<CsrOperator>(rank, g.last_inverse().view(), partition, A.space())
                         : std::make_unique<CsrOperator>(rank, g.last_inverse().view(), partition);
  last_b_[0] = last_->operand(rank, "b of the last level");
  last_b_[1] = last_->operand(rank, "b of the last level, odd visits");
  last_x_ = last_->result(rank, "x of the last level");
}

void Multigrid::update_values(Rank& rank) {
  for (std::size_t l = 0; l < mine_.size(); l++) {
    Level& level = *mine_[l];
    if (level.own) level.own->update_values(rank, levels_->matrix(int(l)).values);
    level.jacobi.update_values(rank, levels_->matrix(int(l)));
    level.smooth.set_bound(rank, levels_->level(int(l)).bound);
    level.take(rank, levels_->level(int(l)));
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
    cycle(rank, 0, r, mine_[0]->x, z);
  }
  record_dots(rank, epilogue);
}

/// One cycle for A to = b, from zero; `x` may be the same as `to`.
void Multigrid::cycle(Rank& rank, std::size_t l, Vec b, Vec x, Vec to) const {
  const Level& level = *mine_[l];
  level.smooth.apply(rank, b, x);
  rank.push_last(x);
  level.A.apply(rank, x, level.Ax);
  correct(rank, l, b, x);
  rank.push_last(level.corrected);
  level.A.apply(rank, level.corrected, level.Ax);
  rank.run(multigrid::Residual{.b = b, .Ax = level.Ax, .r = level.r});
  level.smooth.apply(rank, level.r, level.y);
  rank.run(multigrid::Add{.x = level.corrected, .y = level.y, .to = to});
}

/// corrected = x + P e, where e approximates what the next level's matrix makes of P^T (b - A x).
void Multigrid::correct(Rank& rank, std::size_t l, Vec b, Vec x) const {
  const Level& level = *mine_[l];
  const bool is_last = l + 1 == mine_.size();
  const int space = is_last ? last_->space() : mine_[l + 1]->A.space();
  const Vec to = is_last ? last_b_[visits_++ % 2] : mine_[l + 1]->b;
  Vec e = last_x_;
  rank.run_over(space, RestrictResidual{level.shape, b, level.Ax, level.takes_part, to});
  if (is_last) {
    rank.push_last(to);
    last_->apply(rank, to, last_x_);
  } else {
    const Level& next = *mine_[l + 1];
    e = next.x;
    cycle(rank, l + 1, next.b, next.x, next.x);
    if (cycle_ == Cycle::w) {
      rank.push_last(next.x);
      next.A.apply(rank, next.x, next.Ax);
      rank.run(multigrid::Residual{.b = next.b, .Ax = next.Ax, .r = next.again_b});
      cycle(rank, l + 1, next.again_b, next.again_x, next.again_x);
      rank.run(multigrid::AddTo{.y = next.again_x, .x = next.x});
    }
  }
  rank.run(AddCorrection{level.shape, e, level.takes_part, x, level.corrected});
}

i64 Multigrid::bytes() const {
  auto of = [](const CsrOperator& held) {
    const CsrSlice& s = held.slice();
    return held.bytes() + s.entries * i64(sizeof(double) + sizeof(i32)) + s.rows * i64(sizeof(i64));
  };
  i64 sum = of(*last_);
  for (const auto& level : mine_)
    if (level->own) sum += of(*level->own);
  return sum;
}

}  // namespace sordino
