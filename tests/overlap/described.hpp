// The system and the machine on which the library's methods are timed.
#pragma once
#include "runs.hpp"
#include "sordino/linalg/csr_rows.hpp"
#include "sordino/linalg/poisson.hpp"

namespace described {

using namespace sordino;

inline constexpr double us = 1e-6, tiny = 1e-11;

inline const CsrMatrix& matrix() {
  static const CsrMatrix A = poisson(12, 12, 28, 7, 10);
  return A;
}

/// Four ranks; a product takes about 10 us, and the rest of the machine is quick.
inline model::Options machine(double reduction) {
  model::Options o;
  o.ranks = 4;
  o.machine.launch_s = o.machine.put_overhead_s = 0;
  o.machine.memory_bandwidth = csr_cost(matrix().n, matrix().indptr.back()).bytes / 4 / (10 * us);
  o.machine.reduction_base_s = reduction;
  o.machine.link_latency_s = 0.1 * us;
  o.machine.link_bandwidth = 1e15;
  return o;
}

}  // namespace described
