// What a solve does where the loop has ended and the recomputed residual does not meet the tolerance: of one system, and of
// each column of several.
#pragma once
#include <cmath>
#include <cstddef>

#include "sordino/base/status.hpp"

namespace sordino {

constexpr double divergence = 1e10;     // growth of the residual norm that ends a solve
constexpr double tighten = 0.5;         // aim below the target after a recurrence promised too much
constexpr double least_progress = 0.5;  // a restart must reduce the true residual by this factor
constexpr std::size_t most_recoveries = 100;
constexpr int most_unchecked = 200;   // iterations without a check for the best x, of two commands, whatever is asked
constexpr double attained = 1e-10;    // of the first residual: on a singular system what vanishes below it may be rounding
constexpr double as_good = 1 - 1e-6;  // a promise of no smaller part of the norm is of the last x, but for rounding
constexpr double lost = 1e4;          // a recurrence that promised a residual so much below the true one has lost touch with it

inline double square(double v) { return v * v; }

/// Whether a loop that ended so is begun anew, from a residual of this norm, where the last began from one of norm `before`.
inline bool may_restart(Verdict verdict, double norm, double before, std::size_t recoveries) {
  return (verdict == met || verdict == broke_down) && norm < least_progress * before && recoveries < most_recoveries;
}

/// Whether the x of which a recurrence promised the smallest (r,r) is to be looked at, where that of the last x is `norm`.
inline bool promises_more(double promised_rr, double norm) {
  return !(std::isfinite(norm) && promised_rr >= square(as_good * norm));
}
/// And whether it is the better one, now that its residual has been recomputed.
inline bool is_better(double promised, double norm) { return promised < norm || !std::isfinite(norm); }

/// Whether the recurrence went on into rounding: what it met there says nothing of A. `norm` is that of the promised x.
inline bool has_lost_touch(double promised_rr, double norm) { return std::sqrt(promised_rr) * lost < norm; }

}  // namespace sordino
