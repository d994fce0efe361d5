#include "sordino/precond/multigrid.hpp"

#include <cmath>

#include "sordino/base/range.hpp"
#include "sordino/linalg/epilogue.hpp"
#include "sordino/linalg/single_operator.hpp"
#include "sordino/precond/grid_transfers.hpp"

namespace sordino {

/// A level's matrix, which is in lower precision, or in double, but for what the first level's caller has.
struct LevelMatrix {
  std::unique_ptr<SingleOperator> lowered;
  std::unique_ptr<CsrOperator> own;
  const Operator& A;

  LevelMatrix(Rank& rank, const Operator& first, const MultigridLevels& g, int l, const Diagonals& diagonals)
      : lowered(
            g.precision(l) == CyclePrecision::full
                ? nullptr
                : std::make_unique<SingleOperator>(rank, g.matrix(l), g.partition(l), diagonals, g.precision(l), g.exponent())),
        own(lowered || l == 0 ? nullptr : stored(rank, g, l, diagonals)),
        A(lowered ? static_cast<const Operator&>(*lowered)
          : own   ? static_cast<const Operator&>(*own)
                  : first) {}
  static std::unique_ptr<CsrOperator> stored(Rank& rank, const MultigridLevels& g, int l, const Diagonals& diagonals) {
    if (const MadeRows made = g.made(l); made.is_given()) return std::make_unique<CsrOperator>(rank, made, g.partition(l));
    return std::make_unique<CsrOperator>(rank, g.matrix(l), g.partition(l), diagonals);
  }
  Vec inverse_diagonal() const { return lowered ? lowered->inverse_diagonal() : Vec{}; }
  LevelSpace space() const { return {A.space(), A.is_single()}; }
  void update_values(Rank& rank, const CsrView& values, int exponent) {
    if (lowered) return lowered->update_values(rank, values, exponent);
    if (own) own->update_values(rank, values.values);  // null of rows that are made, which are filled again
  }
};

struct Multigrid::Level {
  LevelMatrix matrix;
  const Operator& A;
  std::unique_ptr<LevelSmoother> smooth;
  std::unique_ptr<LevelTransfer> transfer;  // to the next level, and from there
  Vec b, x, corrected, again_b, again_x;    // b and x of this level's own, and of a second visit

  Level(Rank& rank, const Operator& first, const MultigridLevels& levels, int l, Cycle cycle, const Diagonals& diagonals)
      : matrix(rank, first, levels, l, diagonals),
        A(matrix.A),
        smooth(levels.smoother(rank, l, A, matrix.inverse_diagonal())),
        x(smooth->operand(rank, "x of a level")),
        corrected(smooth->operand(rank, "corrected x")) {
    if (l > 0 || matrix.lowered) b = rank.vector("b of a level", A.space());
    if (l == 0 || cycle == Cycle::v) return;
    again_b = rank.vector("b of a second visit", A.space());
    again_x = smooth->operand(rank, "x of a second visit");
  }
};

Smoothing smoothing_of(const std::string& word) {
  if (word == "chebyshev") return Smoothing::chebyshev;
  if (word == "sor") return Smoothing::sor;
  if (word == "block-ilu") return Smoothing::block_ilu;
  bad_argument("there is no smoother '" + word + "'; there are chebyshev, sor, block-ilu");
}

Cycle cycle_of(const std::string& word) {
  if (word == "v") return Cycle::v;
  if (word == "f") return Cycle::f;
  if (word == "w") return Cycle::w;
  bad_argument("there is no cycle '" + word + "'; there are v, f, w");
}

CyclePrecision precision_of(const std::string& word) {
  if (word == "double") return CyclePrecision::full;
  if (word == "single") return CyclePrecision::single;
  if (word == "half") return CyclePrecision::half;
  bad_argument("cycles are not computed in precision '" + word + "'; there are double, single, half");
}

Multigrid::~Multigrid() = default;

Multigrid::Multigrid(Rank& rank, const Operator& A, std::shared_ptr<const MultigridLevels> levels, Cycle cycle,
                     const Diagonals& first)
    : A_(A), levels_(std::move(levels)), cycle_(cycle) {
  const MultigridLevels& g = *levels_;
  const int last = g.count() - 1;
  for (int l = 0; l < last; l++) {
    Range range("store a level and its smoother");
    mine_.push_back(std::make_unique<Level>(rank, A, g, l, cycle, l == 0 ? first : g.diagonals(l)));
  }
  const CsrView inverse = g.last_inverse().view();
  last_ = last == 0 ? std::make_unique<CsrOperator>(rank, inverse, g.partition(last), A.space())
                    : std::make_unique<CsrOperator>(rank, inverse, g.partition(last));
  for (int l = 0; l < last; l++) {
    Range range("store a level's transfers");
    mine_[std::size_t(l)]->transfer = g.transfer(rank, l, space(std::size_t(l)), space(std::size_t(l + 1)));
  }
  last_b_[0] = last_->operand(rank, "b of the last level");
  last_b_[1] = last_->operand(rank, "b of the last level, odd visits");
  if (g.precision(0) != CyclePrecision::full) narrow_ = rank.scalar("to single"), widen_ = rank.scalar("to double");
  set_scales(rank, g.exponent());
}

LevelSpace Multigrid::space(std::size_t l) const {
  return l == mine_.size() ? LevelSpace{last_->space()} : mine_[l]->matrix.space();
}

void Multigrid::expect(Rank& rank, double norm) const {
  if (norm > 0 && std::isfinite(norm)) set_scales(rank, std::ilogb(norm));
}

/// For vectors that are to be divided by 2^exponent.
void Multigrid::set_scales(Rank& rank, int exponent) const {
  if (narrow_.id < 0) return;
  rank.set(narrow_, std::ldexp(1.0, -exponent));
  rank.set(widen_, std::ldexp(1.0, exponent - levels_->exponent()));
}

void Multigrid::update_values(Rank& rank) {
  for (std::size_t l = 0; l < mine_.size(); l++) {
    Level& level = *mine_[l];
    level.matrix.update_values(rank, levels_->matrix(int(l)), levels_->exponent());
    level.smooth->update_values(rank);
    level.transfer->update_values(rank);
  }
  last_->update_values(rank, levels_->last_inverse().values.data());
  set_scales(rank, levels_->exponent());
}

void Multigrid::apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const {
  if (mine_.empty()) {
    const Vec b = last_b_[visits_++ % 2];
    rank.copy(r, b);
    rank.push_last(b);
    last_->apply(rank, b, z);
  } else if (const Level& first = *mine_[0]; !first.matrix.lowered) {
    run(rank, cycle_, 0, r, first.x, z);
  } else {
    const i32 rows = rank.space(A_.space()).rows;
    rank.run(multigrid::Narrow{.c = narrow_, .rows = rows, .r = r, .to = first.b});
    run(rank, cycle_, 0, first.b, first.x, first.x);
    rank.run(multigrid::Widen{.c = widen_, .rows = rows, .x = first.x, .z = z});
  }
  record_dots(rank, epilogue);
}

/// One cycle for A to = b, from zero; `x` may be the same as `to`. What goes to the coarse level was left before the smoother's
/// last step, which then goes on beside it.
void Multigrid::run(Rank& rank, Cycle cycle, std::size_t l, Vec b, Vec x, Vec to) const {
  const Level& level = *mine_[l];
  const Vec left = level.transfer->residual();
  level.smooth->apply_and_leave(rank, b, x, left);
  rank.push_last(left);
  correct(rank, cycle, l, left, x);
  level.smooth->improve(rank, b, level.corrected, to);
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
  level.smooth->leave(rank, level.b, level.x, level.again_b);
  run(rank, cycle == Cycle::f ? Cycle::v : cycle, l, level.again_b, level.again_x, level.again_x);
  with_numbers(level.A.is_single(),
               [&]<class V>(V) { rank.run(multigrid::Add<V>{.x = level.x, .y = level.again_x, .to = e}); });
}

i64 Multigrid::bytes() const {
  auto of = [](const auto& held) {
    const CsrSlice& s = held.slice();
    return held.bytes() + s.entries * i64(sizeof(double) + sizeof(i32)) + s.rows * i64(sizeof(i64));
  };
  i64 sum = of(*last_);
  for (std::size_t l = 0; l < mine_.size(); l++) {
    const auto& level = mine_[l];
    const LevelMatrix& matrix = level->matrix;
    const bool has_rows = levels_->matrix(int(l)).n > 0;  // which were not made
    sum += (!matrix.own ? 0 : has_rows ? of(*matrix.own) : matrix.own->bytes()) + level->transfer->bytes();
    if (matrix.lowered) sum += level == mine_.front() ? matrix.lowered->bytes() : of(*matrix.lowered);
  }
  return sum;
}

}  // namespace sordino
