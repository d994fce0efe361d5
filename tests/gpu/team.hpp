// What the tests of teams share.
#pragma once
#include <random>

#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/team.cuh"
#include "sordino/runtime/cuda/team.hpp"
#include "support.hpp"

namespace test {

/// Numbers of ranks that may wait for each other here: one a device.
inline std::vector<int> waiting_ranks() {
  need_gpu();
  int devices = int(sordino::cuda::device_report().devices.size());
  std::vector<int> list;
  for (int r : {1, 2, 3, 4})
    if (r <= devices) list.push_back(r);
  return list;
}

inline sordino::cuda::TeamOptions team_options(int ranks, sordino::u32 first_epoch = 0) {
  sordino::cuda::TeamOptions o;
  o.ranks = ranks;
  o.first_epoch = first_epoch;
  o.timeout = 5;
  return o;
}

inline std::vector<double> random_values(sordino::i64 n, int seed) {
  std::mt19937_64 random{sordino::u64(seed)};
  std::uniform_real_distribution<double> values(-1, 1);
  std::vector<double> v(std::size_t(n), 0.0);
  for (double& x : v) x = values(random);
  return v;
}

}  // namespace test
