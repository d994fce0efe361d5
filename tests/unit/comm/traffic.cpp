// Messages and collectives on vectors, inside recorded programs.
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "traffic_checks.hpp"

using namespace sordino;

namespace {

template <class Test>
void on_host_and_model(std::initializer_list<int> ranks, Test test) {
  for (int P : ranks) {
    NOTE(P, " ranks, host");
    host::HostEngine host({.ranks = P, .timeout = 10});
    test(host);
    for (u64 seed : {0, 1, 2, 3}) {
      NOTE(P, " ranks, model, seed ", seed);
      model::Options o;
      o.ranks = P;
      o.seed = seed;
      model::ModelEngine model(o);
      test(model);
    }
  }
}

}  // namespace

TEST("point to point: words travel round a ring, in the order asked for") { on_host_and_model({2, 3, 4, 7}, traffic::ring); }

TEST("broadcast, gather, scatter, all-gather and all-to-all bring each word where it belongs, whatever the counts") {
  on_host_and_model({1, 2, 3, 4, 7}, traffic::collectives);
}

TEST("a long vector's sum over ranks is the same on all of them") { on_host_and_model({1, 2, 3, 4, 7}, traffic::sums); }

TEST("ranks that disagree on a message, or name ranks and rows that are not there, say so and do not hang") {
  auto fails = [](const char* sentence, const std::function<void(Rank&)>& job) {
    host::HostEngine host({.ranks = 3, .timeout = 5});
    CHECK_THROWS(host.run(job, {}), Error, sentence);
  };
  fails("rank 0 sends 2 words to rank 1, which expects 3", [](Rank& s) {
    if (s.id() == 0) point_to_point(s, 4, {{1, {0, 1}}}, {});
    if (s.id() == 1) point_to_point(s, 4, {}, {{0, 3}});
  });
  fails("rank 1 cannot trade words with rank 3", [](Rank& s) {
    if (s.id() == 1) point_to_point(s, 4, {{3, {0}}}, {});
  });
  fails("cannot trade words with rank 2", [](Rank& s) {
    if (s.id() == 2) point_to_point(s, 4, {}, {{2, 1}});
  });
  fails("row 4 is to be sent, of 4", [](Rank& s) {
    if (s.id() == 0) point_to_point(s, 4, {{1, {4}}}, {});
  });
  fails("two messages to rank 1", [](Rank& s) {
    if (s.id() == 0) point_to_point(s, 4, {{1, {0}}, {1, {1}}}, {});
  });
  fails("a count for every rank", [](Rank& s) { all_to_all_exchange(s, {1, 2}); });
  fails("one a rank at least", [](Rank& s) { VectorSum sum(s, 2); });
}
