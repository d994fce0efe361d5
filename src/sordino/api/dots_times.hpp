// For benchmarks: dot products of whole vectors on an engine (000, Fig. 17(a)).
#pragma once
#include "sordino/api/options.hpp"
#include "sordino/base/types.hpp"

namespace sordino {

/// Seconds of a pair of dot products, (t,v) and (t,t), of vectors of n rows that each rank of the options' engine has whole, of
/// the slowest rank; TimedDots says how. Memory: 16 n bytes a rank, and 8 n on the host. Throws bad_argument for fewer than one
/// pair and more ranks than rows, `unsupported` with ranks in several processes.
double time_dots(const Options& options, i64 n, bool shared, int pairs);

}  // namespace sordino
