// What a cell of a grid's level takes from the aggregates of the next one, and what its row tells that level: one function for
// loops of the host and for kernels, so that both have the same bits (grid_levels.hpp says why it is so).
#pragma once
#include <limits>

#include "sordino/base/types.hpp"

namespace sordino {

/// A cell's part in a transfer, in 2^-15: of its own aggregate, and across its aggregate's side in each direction. Of P that is
/// what the cell takes from the aggregate behind, of P^T what the aggregate takes from the cell behind.
struct alignas(8) CellWeights {  // so that GPUs load it at once
  static constexpr int one = 1 << 15;
  std::uint16_t own, across[3];
};
static_assert(sizeof(CellWeights) == sizeof(double));  // a word of a vector

/// Of the largest of a row's couplings, in directions: what is less counts less across an aggregate's side, and what couplings
/// inwards are taken for beside a wall. In directions of pairs those of one phase are more (grid_steps.hpp).
inline constexpr double weak_coupling = 0.25, least_inward = 0.4;

/// Of walls over twice the couplings inwards. What couples a cell of finite elements with those beside it holds of the wall,
/// too: the more of that is taken from its diagonal alone, the less is left of a vector that alternates along the wall, and
/// with more than this nothing is.
inline constexpr double most_walls_of_edges = 2;

/// Where a cell is in its aggregate, in a direction: the first or the second of a pair, or alone.
enum CellPlace : std::uint8_t { first_of_pair = 0, second_of_pair = 1, alone_there = 2 };

/// A cell's couplings in one direction, with all that is behind it and ahead, edges and corners included.
struct SideCouplings {
  double behind = 0, ahead = 0;
  bool meets_behind = false, meets_ahead = false;  // whether the cell next to it there is coupled, and of another pair's side
};

/// What a fine cell's row says of one direction of its aggregate.
struct CellSide {
  double inward = 0, outward = 0;  // couplings with the cell's partner's side, and with the other one
  double most = 0;                 // of both
  bool has_other = false;          // whether the cell next to it outside is coupled
  bool is_paired = false;          // whether it has a partner
};

/// As std::max and std::min have them.
SORDINO_HD inline double larger(double a, double b) { return a < b ? b : a; }
SORDINO_HD inline double smaller(double a, double b) { return b < a ? b : a; }

/// A part of 0 to 2 in the units of CellWeights, halves rounded up: the remainder is exact.
SORDINO_HD inline int in_weights(double part) {
  const double scaled = part * CellWeights::one;
  const int whole = int(scaled);
  return whole + (scaled - whole >= 0.5 ? 1 : 0);
}

SORDINO_HD inline CellSide side_of(const SideCouplings& c, CellPlace place) {
  CellSide side;
  side.most = larger(c.behind, c.ahead);
  if (place == alone_there) {
    side.inward = c.behind > 0 && c.ahead > 0 ? 0 : side.most;
    return side;
  }
  const bool is_second = place == second_of_pair;
  side.inward = is_second ? c.behind : c.ahead;
  side.outward = is_second ? c.ahead : c.behind;
  side.has_other = is_second ? c.meets_ahead : c.meets_behind;
  side.is_paired = true;
  return side;
}

/// Of a quarter, what a cell takes from the aggregate behind a side: less where the coupling across is weaker than the one
/// inwards, and where it is weak beside the row's largest. Cells that are coupled strongly else would take different parts of
/// a correction across phases, and lose in their couplings more than that gains.
SORDINO_HD inline double share_across(const CellSide& side, double most) {
  return smaller(1.0, 2 * side.outward / (side.inward + side.outward)) * smaller(1.0, side.outward / (weak_coupling * most));
}

/// Of what a cell's row adds up to, `excess`, what the next level holds; and what P takes for it. Walls count up to
/// `most_walls` times twice the couplings inwards.
SORDINO_HD inline double held_by(double excess, const SideCouplings (&couplings)[3], const CellPlace (&places)[3],
                                 CellWeights& weights, double most_walls = std::numeric_limits<double>::max()) {
  double open = 0, paired = 0, most = 0;
  CellSide sides[3];
  for (int d = 0; d < 3; d++) {
    const CellSide side = sides[d] = side_of(couplings[d], places[d]);
    most = larger(most, side.most);
    if (side.outward > 0 || !(side.inward > 0)) continue;
    open += side.inward;
    if (side.is_paired) paired += side.inward;
  }
  // Couplings with walls, over twice those inward.
  const double over_inward = open > 0 && excess > 0 ? excess / (2 * larger(open, least_inward * most)) : 0;
  const double walls = smaller(over_inward, most_walls);
  int left = CellWeights::one;
  for (int d = 0; d < 3; d++) {
    const CellSide& side = sides[d];
    weights.across[d] = 0;
    if (!side.is_paired || !(side.inward > 0)) continue;
    const double across = side.has_other && side.outward > 0 ? 0.25 * share_across(side, most) : 0;
    const double wall = side.outward > 0 ? 0 : walls / (1 + walls);
    weights.across[d] = std::uint16_t(in_weights(across));
    left -= in_weights(across + wall);
  }
  weights.own = std::uint16_t(left < 0 ? 0 : left);
  return open > 0 ? excess * (1 - paired / open * (walls / (1 + walls))) : excess;
}

}  // namespace sordino
