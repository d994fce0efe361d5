// How fast the dslash is, and whether it is the right operator: what `sordino dslash` and benchmarks run on each rank.
#pragma once
#include "sordino/lattice/wilson.hpp"

namespace sordino::lattice {

/// Bytes a site and hop by two counts: QUDA's, in which no spinor is read from a cache, and one in which each is read once.
struct SiteBytes {
  double uncached, ideal;
};
SiteBytes site_bytes(Precision precision, int reals);

struct Hops {
  double seconds = 0;  // of one hop from one parity to the other, on this rank and the engine's clock
  Ledger ledger;       // of all that were timed
};
/// Replays `pairs` hops from even to odd sites and back, each needing the one before. Fields are scaled by 1/8 a hop, so that
/// they do not grow. Collective; synchronizes all ranks before the clock starts.
Hops time_hops(Rank& rank, const Box& box, const std::shared_ptr<const LinkField>& links, const Source& source, int pairs);

/// A rank's part of <x, gamma_5 M y> and <y, gamma_5 M x>, which must be complex conjugates. To be summed over ranks.
struct Hermiticity {
  Complex<double> left, right;
  double xx = 0, yy = 0;

  void operator+=(const Hermiticity& o);
  /// |left - conj(right)| relative to |x| |y|.
  double error() const;
};
Hermiticity check_hermiticity(Rank& rank, const Box& box, const std::shared_ptr<const LinkField>& links, double kappa,
                              const Source& x, const Source& y);

}  // namespace sordino::lattice
