#include "sordino/comm/timing.hpp"

#include <algorithm>

#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int channel = 4;

double median(std::vector<double> times) {
  auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

AllReduceTimes time_all_reduce(Engine& engine, const AllReduceOptions& options, i64 values, int repeats) {
  if (values < 0 || repeats < 1)
    bad_argument("an all-reduce is timed with 0 or more values, at least once, not with " + std::to_string(values) +
                 " values " + std::to_string(repeats) + " times");
  AllReduceTimes median_of_slowest;
  engine.run([&](Rank& rank) {
    Communicator comm(rank, channel);
    std::vector<double> mine(std::size_t(values), 1.0), post, wait, total;
    for (int k = 0; k <= repeats; k++) {
      engine.barrier(rank);
      double begin = engine.now(rank);
      auto sum = comm.start_all_reduce(mine, Fold::sum, options);
      double posted = engine.now(rank);
      sum.get();
      double end = engine.now(rank);
      if (k == 0) continue;  // first touch
      post.push_back(posted - begin);
      wait.push_back(end - posted);
      total.push_back(end - begin);
    }
    for (auto* times : {&post, &wait, &total})
      *times = comm.all_reduce(*times, Fold::max, {.algorithm = Algorithm::tree});  // the slowest rank's
    if (rank.id() == engine.first_rank()) median_of_slowest = {median(post), median(wait), median(total)};
  });
  return median_of_slowest;
}

}  // namespace sordino
