// The litmus test of packets, which in-kernel reductions rest on: one store, or load, of 128 bits is never torn, on any link.
#pragma once
#include "sordino/comm/cuda/figures.hpp"

namespace sordino::cuda {

struct Litmus {
  i64 packets = 0;     // received, each of another epoch
  i64 reads = 0;       // all of which were checked
  i64 violations = 0;  // reads of a value that does not belong to its tag
};

/// Exchanges at least `epochs` packets in all, between all pairs of ranks, `stride` packets apart, counting from epoch `first`.
Litmus exchange_packets(const TeamOptions& options, i64 epochs, int stride, u32 first = 0);

}  // namespace sordino::cuda
