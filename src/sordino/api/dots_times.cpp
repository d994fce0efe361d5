#include "sordino/api/dots_times.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/solvers/timed_dots.hpp"

namespace sordino {
namespace {

struct Release {
  void operator()(EngineChoice* choice) const {  // keeps it for a rank that never came back
    if (!choice->engine || !choice->engine->has_lost_a_rank()) delete choice;
  }
};

}  // namespace

double time_dots(const Options& options, i64 n, bool shared, int pairs) {
  Range range("sordino: time dot products");
  if (pairs < 1) bad_argument("dot products are timed by pairs, at least 1, not " + std::to_string(pairs));
  if (number_of_processes() > 1) throw Error(Errc::unsupported, "dot products are timed on the ranks of one process");
  const std::unique_ptr<EngineChoice, Release> choice(new EngineChoice(make_engine(options, {}, n)));
  std::vector<double> seconds(std::size_t(choice->engine->size()));
  choice->engine->run([&](Rank& rank) {
    TimedDots timed(rank, n, shared);
    seconds[std::size_t(rank.id())] = timed.seconds(rank, pairs);
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace sordino
