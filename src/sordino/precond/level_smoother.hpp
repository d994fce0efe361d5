// What makes errors of a level smooth that the next one cannot see, before a correction and behind it (multigrid.hpp).
#pragma once
#include <string>

#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Chebyshev's polynomial (polynomial_smoother.hpp), relaxation in two (red_black_smoother.hpp) or eight
/// colours (eight_colour_smoother.hpp), or incomplete factors
/// of tiles (block_ilu_smoother.hpp).
enum class Smoothing { chebyshev, sor, block_ilu };

/// Throws bad_argument for a word that is none of chebyshev, sor and block-ilu.
Smoothing smoothing_of(const std::string& word);

/// x = S b, and to = x + S^T (b - A x): S leaves less than there was of any error in the norm of A, so that M is symmetric
/// positive definite whatever the correction between the two is.
class LevelSmoother {
 public:
  virtual ~LevelSmoother() = default;
  /// After MultigridLevels::update().
  virtual void update_values(Rank& rank) = 0;
  /// A vector that the following may be applied to.
  virtual Vec operand(Rank& rank, const char* name) const = 0;
  /// Records x, and left = b - A x or, of polynomials, what one of a degree less leaves (chebyshev.hpp). x is an operand.
  virtual void apply_and_leave(Rank& rank, Vec b, Vec x, Vec left) const = 0;
  /// Records to = x + S^T (b - A x), or S of a degree less; x is an operand, and `to` any vector of the level.
  virtual void improve(Rank& rank, Vec b, Vec x, Vec to) const = 0;
  /// Records to = b - A x. x is an operand.
  virtual void leave(Rank& rank, Vec b, Vec x, Vec to) const = 0;
};

/// What a rank's smoother takes before there is one.
struct SmootherSize {
  i64 ghosts = 0;  // of an operand
  i64 bytes = 0;   // of what it holds itself: vectors, and matrices
};

}  // namespace sordino
