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

TEST("a long vector's sum, product, minimum and maximum over ranks are the same on all of them") {
  on_host_and_model({1, 2, 3, 4, 7}, traffic::sums);
}

TEST("reduce-scatter and reduce fold segments of any lengths by sum, product, min and max") {
  on_host_and_model({1, 2, 3, 4, 5}, traffic::folds);
}

TEST("copies of vectors and of parts of them are commands, and what they wrote can be pushed") {
  on_host_and_model({1, 2, 3, 4, 5}, traffic::copies);
}

TEST("behind a barrier the next push of a vector may come, and without one the recording is refused") {
  auto rounds = [](bool meets) {
    host::HostEngine host({.ranks = 3, .timeout = 5});
    host.run(
        [&](Rank& s) {
          const VectorFold f = reduce_scatter(s, {1, 2, 3});
          const Barrier barrier(s);
          Scal round = s.scalar("round", 0);
          auto loop = s.loop({}, [&] {
            s.run(traffic::FillSmall{f.operand(), round, s.id()}, push(f.operand()));
            f.fold(s);
            if (meets) barrier.meet(s);
          });
          s.replay(loop, 3);
          CHECK(s.get(barrier.arrived()) == 3);
        },
        {});
  };
  rounds(true);
  CHECK_THROWS(rounds(false), Error, "may overwrite the ghosts of 'reduce-scatter, operand'");
}

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
  fails("rank 0 sends 2 words to rank 1, which folds 3", [](Rank& s) { reduce_scatter(s, {1, s.id() == 1 ? 3 : 2, 4}); });
  fails("rank 2 sends 6 words to rank 1, which folds 5", [](Rank& s) { reduce_to(s, s.id() == 2 ? 6 : 5, 1); });
  fails("there is no rank 3 of 3", [](Rank& s) { reduce_to(s, 5, 3); });
  auto copy_fails = [&](const char* sentence, i32 first, i32 count, bool within, i32 to) {
    fails(sentence, [=](Rank& s) {
      Vec a = s.vector("a", traffic::local_space(s, 10)), b = s.vector("b", traffic::local_space(s, 7));
      s.record([&] { s.copy({a, first, count}, within ? a : b, to); });
    });
  };
  copy_fails("6 rows from row 5 of 'a', which has 10", 5, 6, false, 0);
  copy_fails("4 rows from row 4 of 'b', which has 7", 0, 4, false, 4);
  copy_fails("1 rows from row -1 of 'b'", 0, 1, false, -1);
  copy_fails("-1 rows from row 0 of 'a'", 0, -1, false, 0);
  copy_fails("rows of 'a' to rows that overlap them", 2, 4, true, 5);
  fails("one a rank at least", [](Rank& s) { VectorSum sum(s, 2); });
}
