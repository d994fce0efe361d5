// Ranks of the host and of the model, in the order of time and in some adversary's, that run one job.
#pragma once
#include <string>
#include <vector>

#include "check.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/fresh.hpp"

namespace comm_cases {

using namespace sordino;

inline model::Options modelled(int ranks, u64 seed, int ranks_per_node = 3) {
  model::Options o;
  o.ranks = ranks;
  o.seed = seed;
  o.machine.ranks_per_node = ranks_per_node;
  o.machine.host_overhead_s = 0.3e-6;
  o.machine.loopback_latency_s = 2e-6;
  o.machine.leader_skew_s = 0.1e-6;
  o.machine.jitter_s = seed ? 5e-6 : 0;
  return o;
}

/// With and without a thread of the engine's own.
template <class Job>
void on_host(int ranks, const Job& job) {
  for (bool thread : {false, true}) {
    NOTE("host", thread ? ", with a progress thread" : "");
    host::HostEngine(host::Options{.ranks = ranks, .timeout = 20, .progress_thread = thread}).run(job, {});
  }
}

template <class Job>
void on_engines(int ranks, const Job& job) {
  on_host(ranks, job);
  for (u64 seed : {0, 7, 8}) {
    NOTE("model, seed ", seed);
    model::ModelEngine(modelled(ranks, seed)).run(job);
  }
}

/// What the first failing rank says, on the host and on the model.
template <class Job>
std::vector<std::string> causes(int ranks, const Job& job, double patience = 20) {
  std::vector<std::string> said;
  auto ask = [&](Engine&& engine) {
    try {
      engine.run(job);
      said.push_back("no failure");
    } catch (const Error& e) {
      said.push_back(e.what());
    }
  };
  for (bool thread : {false, true}) ask(host::HostEngine({.ranks = ranks, .timeout = patience, .progress_thread = thread}));
  for (u64 seed : {0, 7, 8}) ask(model::ModelEngine(modelled(ranks, seed)));
  return said;
}

inline constexpr int rank_counts[] = {1, 2, 3, 4, 7, 8};
inline constexpr Fold folds[] = {Fold::sum, Fold::product, Fold::min, Fold::max};

/// The ways there are within one process.
inline std::vector<AllReduceOptions> ways() {
  std::vector<AllReduceOptions> all;
  for (Algorithm a :
       {Algorithm::automatic, Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level})
    all.push_back({.algorithm = a});
  for (int k : {2, 3, 4}) all.push_back({.algorithm = Algorithm::tree, .reduce_degree = k, .broadcast_degree = 6 - k});
  all.push_back({.algorithm = Algorithm::tree, .by_adapter = true});
  return all;
}

}  // namespace comm_cases
