#include "sordino/api/triangular_facts.hpp"

#include <algorithm>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/trsv/width_choice.hpp"

namespace sordino {

using namespace trsv;

namespace {

template <class T>
i64 bytes_of(const std::vector<T>& v) {
  return i64(v.capacity() * sizeof(T));
}

}  // namespace

i64 bytes_of(const Blocks& b) {
  return bytes_of(b.order) + bytes_of(b.blocks) + bytes_of(b.parent) + bytes_of(b.first) + bytes_of(b.rows) +
         bytes_of(b.strips) + bytes_of(b.source_begin) + bytes_of(b.sources);
}

i64 bytes_of(const Plan& p) {
  i64 sum = bytes_of(p.tasks) + bytes_of(p.need_begin) + bytes_of(p.needs) + bytes_of(p.readers) + bytes_of(p.owner);
  for (const auto& queue : p.queues) sum += bytes_of(queue);
  return sum;
}

i64 longest_chain(const Blocks& b) {
  std::vector<i32> depth(std::size_t(b.count()), 1);
  i64 most = 0;
  for (std::size_t k = 0; k < depth.size(); k++) {  // children come before their parent
    most = std::max<i64>(most, depth[k]);
    if (b.parent[k] == no_parent) continue;
    i32& above = depth[std::size_t(b.parent[k])];
    above = std::max(above, depth[k] + 1);
  }
  return most;
}

std::string said_of(const RanksChoice& choice, int there, Direction direction) {
  const RanksPrediction& taken = choice.taken();
  std::string text = std::to_string(taken.ranks) + " of " + std::to_string(there) + " ranks " +
                     (direction == Direction::forward ? "forward" : "back") + ": a solve is predicted to take " +
                     milliseconds(taken.report.seconds);
  for (const RanksPrediction& p : choice.predicted)
    if (p.ranks != taken.ranks) text += ", " + milliseconds(p.report.seconds) + " on " + std::to_string(p.ranks);
  const bool spared = choice.fastest().ranks > taken.ranks;
  return text + (spared ? ", and more ranks are taken where they save 5 %" : "");
}

/// Throws in all processes where one has other facts of its plans: they would wait for one another in vain. Collective.
void require_same(Accord& accord, const std::vector<i64>& facts) {
  std::vector<double> largest;  // of each half of a number, and of its complement
  for (i64 fact : facts)
    for (u32 half : {u32(u64(fact)), u32(u64(fact) >> 32)}) largest.insert(largest.end(), {double(half), double(~half)});
  const std::vector<double> all = accord.most(largest);
  if (accord.most({all == largest ? 0.0 : 1.0})[0] > 0)
    bad_argument("processes that solve together have different triangles or options: give all of them the same");
}

i64 print_of(const SavedPlans& plans) {
  u64 print = 0;
  each_array(plans, [&](const auto& /*name*/, const auto& array) {
    print = (print ^ array.size()) * 0x9e3779b97f4a7c15u;
    for (const auto word : array) print = (print ^ u64(word)) * 0x9e3779b97f4a7c15u, print ^= print >> 29;
  });
  return i64(print);
}

}  // namespace sordino
