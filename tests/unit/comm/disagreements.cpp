// Ranks that call different things, fail, or never come: one sentence, and no hang.
#include <thread>

#include "cases.hpp"

using namespace comm_cases;

namespace {

using Values = std::vector<double>;

/// A job whose ranks disagree, and what somebody must say.
template <class Job>
void check_said(int ranks, const Job& job, const std::string& fragment) {
  for (auto& said : causes(ranks, job)) {
    NOTE(said);
    CHECK(said.find(fragment) != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
}

}  // namespace

TEST("different numbers of values in a reduction are named") {
  for (int odd_one : {0, 1, 3})
    for (auto& way : ways()) {
      NOTE("rank ", odd_one, ", ", name(way.algorithm));
      check_said(
          4, [&](Rank& s) { Communicator(s, 3).all_reduce(Values(s.id() == odd_one ? 5 : 4), Fold::sum, way); },
          "ranks reduce different numbers of values: collective 1 of channel 3 is all_reduce (sum of ");
      check_said(
          4, [&](Rank& s) { Communicator(s, 3).reduce(Values(s.id() == odd_one ? 5 : 4), 2); },
          "ranks reduce different numbers of values");
    }
  check_said(
      3,
      [](Rank& s) {
        std::vector<Values> parts(3, Values(2));
        if (s.id() == 1) parts[2].push_back(0);
        Communicator(s, 3).reduce_scatter(parts);
      },
      "ranks reduce different numbers of values");
}

TEST("another collective, fold, root, type or way on one rank is named, with both") {
  auto with = [](auto odd, auto others) {
    return [odd, others](Rank& s) {
      Communicator c(s, 3);
      if (s.id() == 1)
        odd(c);
      else
        others(c);
      c.barrier();  // who did not wait for anything meets the others here
    };
  };
  Values v(2);
  std::vector<float> f(2);
  auto sum = [=](Communicator& c) { c.all_reduce(v); };
  check_said(3, with([=](Communicator& c) { c.broadcast(v, 1); }, sum), "ranks call different collectives");
  check_said(3, with([=](Communicator& c) { c.reduce(v, 0); }, sum), "ranks call different collectives");
  check_said(3, with([=](Communicator& c) { c.gather(v, 0); }, [=](Communicator& c) { c.all_gather(v); }),
             "ranks call different collectives: collective 1 of channel 3 is ");
  check_said(3, with([=](Communicator& c) { c.all_reduce(v, Fold::max); }, sum), "ranks disagree about a collective");
  check_said(3, with([=](Communicator& c) { c.all_reduce(f); }, sum), "sum of 2 f32");
  check_said(3, with([=](Communicator& c) { c.all_reduce(v, Fold::sum, {.algorithm = Algorithm::tree}); }, sum),
             "ranks disagree about a collective");
  check_said(3, with([=](Communicator& c) { c.broadcast(v, 1); }, [=](Communicator& c) { c.broadcast(v, 0); }),
             "ranks disagree about a collective: collective 1 of channel 3 is broadcast (f64, root ");
}

TEST("a root that does not exist, and lists that are not one for each rank") {
  check_said(
      3, [](Rank& s) { Communicator(s, 3).broadcast(Values(), s.id() == 1 ? 3 : 0); },
      "broadcast (f64, root 3): there is no rank 3, ranks are 0 to 2");
  check_said(
      3, [](Rank& s) { Communicator(s, 3).all_to_all(std::vector<Values>(2)); },
      "all_to_all takes one list for each of 3 ranks, not 2");
  check_said(
      3, [](Rank& s) { Communicator(s, 3).scatter(std::vector<Values>(4), 0); }, "rank 0: scatter takes one list for each");
}

TEST("a rank that fails is what all others say, whatever they wait for") {
  for (auto& way : ways())
    check_said(
        7,
        [&](Rank& s) {
          Communicator c(s, 3);
          auto a = c.start_all_reduce(Values(3), Fold::sum, way);
          auto b = c.start_barrier();
          if (s.id() == 5) throw Error(Errc::device, "the cause");
          if (s.id() % 2) b.get();
          a.get();
          if (s.id() % 2 == 0) b.get();
          c.barrier();
        },
        "rank 5: the cause");
}

TEST("a rank that never comes is named with what it did not do") {
  for (auto& said : causes(
           4,
           [](Rank& s) {
             if (s.id() != 2) Communicator(s, 3).all_reduce(Values(3));
           },
           0.3)) {
    NOTE(said);
    CHECK(said.find("rank 2's part of all_reduce (sum of 3 f64, ordered), collective 1 of channel 3") != std::string::npos);
  }
}

TEST("ranks that each wait for what nobody sends are told so when patience ends") {
  auto job = [](Rank& s) { Communicator(s, 3).gather(Values(2), s.id() == 1 ? 1 : 0); };
  for (auto& said : causes(3, job, 0.3)) {
    NOTE(said);
    CHECK(said.find("'s part of gather (f64, root ") != std::string::npos);
  }
}

TEST("what one rank has found out is an error in another communication of it as well, and test() does not throw") {
  check_said(
      2,
      [](Rank& s) {
        Communicator a(s, 3), b(s, 4);
        auto wrong = a.start_all_reduce(Values(std::size_t(2 + s.id())));
        auto right = b.start_all_reduce(Values(1));
        while (!wrong.test() && s.id() == 0) std::this_thread::yield(), b.send(0, Values()), b.receive<double>(0);
        right.get();
        wrong.get();
      },
      "ranks reduce different numbers of values");
}
