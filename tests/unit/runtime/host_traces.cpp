// What the host engine's trace says of communication: what is under way, and which part of it was waited for.
#include <map>
#include <utility>

#include "check.hpp"
#include "host_bench.hpp"

using namespace host_bench;

TEST("each halo and each reduction is under way once, from its own start, and waits lie within") {
  constexpr int ranks = 3, iterations = 6;
  HostEngine e({.ranks = ranks});
  e.trace().on = true;
  e.run([](Rank& s) { Growth(s).run(iterations); }, {});
  std::map<std::pair<int, SpanKind>, std::vector<Span>> found;
  for (auto& span : e.trace().take()) found[{span.rank, span.kind}].push_back(span);
  for (int rank = 0; rank < ranks; rank++)
    for (auto [under_way, wait] :
         {std::pair{SpanKind::halo, SpanKind::halo_wait}, std::pair{SpanKind::reduction, SpanKind::reduction_wait}}) {
      NOTE("rank ", rank, ", ", name(under_way));
      auto& flights = found[{rank, under_way}];
      CHECK(int(flights.size()) == iterations);
      for (std::size_t k = 1; k < flights.size(); k++) CHECK(flights[k - 1].end <= flights[k].start);
      for (auto& w : found[{rank, wait}]) {
        bool within = false;
        for (auto& f : flights) within |= f.start <= w.start && w.end <= f.end;
        CHECK(within);
      }
    }
}
