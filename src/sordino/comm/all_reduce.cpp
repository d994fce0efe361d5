#include "sordino/comm/all_reduce.hpp"

#include "sordino/base/error.hpp"
#include "sordino/comm/all_reduce_times.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino {
namespace {

constexpr const char* names[] = {"automatic", "fastest", "ordered", "recursive_doubling", "tree", "two_level", "mpi", "nccl"};

// Up to here the order of a serial loop over ranks is worth more than the time it takes.
constexpr int few_ranks = 16;

// A tree goes up and down: it is never faster than both of these. All ranks may be far from each other.
Algorithm fastest_of_host_data(const Machine& machine, int ranks) {
  MessageCosts costs = costs_of_host_data(machine);
  bool near = machine.ranks_per_node == 0 || machine.ranks_per_node >= ranks;
  double latency = near ? costs.near : costs.far;
  int rounds = 0, core = 1;
  for (; 2 * core <= ranks; core *= 2) rounds++;
  if (core < ranks) rounds += 2;
  double to_everybody = (ranks - 1) * costs.overhead + latency, by_doubling = rounds * (costs.overhead + latency);
  return to_everybody <= by_doubling ? Algorithm::ordered : Algorithm::recursive_doubling;
}

void check_degree(int degree, const char* of_what) {
  if (degree < 2 || degree > 4)
    bad_argument(std::string("the tree that ") + of_what + " has degree 2, 3 or 4, not " + std::to_string(degree));
}

}  // namespace

const char* name(Algorithm algorithm) { return names[int(algorithm)]; }

Algorithm algorithm_named(const std::string& word) {
  std::string known;
  for (int k = 0; k < int(std::size(names)); k++) {
    if (word == names[k]) return Algorithm(k);
    known += (k ? ", " : "") + std::string(names[k]);
  }
  bad_argument("there is no all-reduce '" + word + "'; there are " + known);
}

bool reproducible(Algorithm algorithm) { return algorithm != Algorithm::two_level && algorithm != Algorithm::mpi; }

AllReduceOptions chosen(const AllReduceOptions& options, Engine& engine) {
  AllReduceOptions o = options;
  check_degree(o.reduce_degree, "reduces");
  check_degree(o.broadcast_degree, "broadcasts");
  if (o.algorithm == Algorithm::automatic && engine.size() <= few_ranks) o.algorithm = Algorithm::ordered;
  if (o.algorithm == Algorithm::automatic || o.algorithm == Algorithm::fastest)
    o.algorithm = fastest_of_host_data(engine.described(), engine.size());
  if (o.algorithm == Algorithm::nccl)
    throw Error(Errc::unsupported,
                "the all-reduce nccl is for recorded sums of engine cuda whose ranks send to each other by NCCL");
  if (!reproducible(o.algorithm)) o.by_adapter = false;  // the point of two levels is to avoid it
  if (o.algorithm == Algorithm::mpi && (!engine.transport() || !engine.transport()->reduces()))
    throw Error(Errc::unsupported, "the all-reduce mpi needs several MPI processes: engine " + std::string(engine.name()) +
                                       " runs in one; tree and two_level work everywhere");
  return o;
}

}  // namespace sordino
