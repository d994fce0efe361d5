#include "sordino/comm/all_reduce.hpp"

#include "sordino/base/error.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino {
namespace {

constexpr const char* names[] = {"automatic", "ordered", "recursive_doubling", "tree", "two_level", "mpi"};

// Up to here sending to everybody, an overhead each, takes less time than several latencies one after the other.
constexpr int few_ranks = 16;

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
  if (o.algorithm == Algorithm::automatic)
    o.algorithm = engine.size() <= few_ranks ? Algorithm::ordered : Algorithm::recursive_doubling;
  if (!reproducible(o.algorithm)) o.by_adapter = false;  // the point of two levels is to avoid it
  if (o.algorithm == Algorithm::mpi && (!engine.transport() || !engine.transport()->reduces()))
    throw Error(Errc::unsupported, "the all-reduce mpi needs several MPI processes: engine " + std::string(engine.name()) +
                                       " runs in one; tree and two_level work everywhere");
  return o;
}

}  // namespace sordino
