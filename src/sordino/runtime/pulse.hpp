// Signs of life of all ranks, and the word that ends all waiting: host memory that devices, and other processes, look at.
// Plain data only.
#pragma once
#include "sordino/base/types.hpp"

namespace sordino {

struct Pulse {
  alignas(128) u32 abort = 0;  // somebody failed: stop waiting
  struct alignas(128) Beat {
    u64 host = 0, device = 0;  // grow while the rank makes progress; one writer each
  };
  static constexpr int most_ranks = 256;
  Beat beats[most_ranks];
};

}  // namespace sordino
