// Recorded sums by every way there is, on the engines of the CPU: the same results, the same ends of a loop, one cause of a
// failure.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/recorded_sums.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/comm/counting.hpp"

using namespace problems;

namespace {

constexpr Algorithm ways[] = {Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level};

std::unique_ptr<Engine> on_host(int ranks, bool thread = false, double timeout = 20) {
  return std::make_unique<host::HostEngine>(
      host::Options{.ranks = ranks, .timeout = timeout, .first_epoch = 0xfffffffd, .progress_thread = thread});
}

std::unique_ptr<Engine> on_model(int ranks, u64 seed) {
  model::Options o;
  o.ranks = ranks;
  o.seed = seed;
  o.first_epoch = 0xfffffffd;
  o.machine.ranks_per_node = 3;
  o.machine.leader_skew_s = 1e-7;
  o.machine.jitter_s = seed ? 3e-6 : 0;
  return std::make_unique<model::ModelEngine>(o);
}

std::string cause_of(Engine& engine, const std::function<void(Rank&)>& job) {
  try {
    engine.run(job, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "no failure";
}

}  // namespace

TEST("whole numbers add up to the same by every way, two sums under way at once, over the wrap-around of epochs") {
  for (int ranks : {1, 2, 3, 5, 8, 13})
    for (Algorithm a : ways)
      for (int degree : {2, 3, 4}) {
        NOTE(ranks, " ranks, ", name(a), ", degree ", degree);
        AllReduceOptions way{.algorithm = a, .reduce_degree = degree, .broadcast_degree = 6 - degree};
        for (auto& engine : {on_host(ranks), on_host(ranks, true), on_model(ranks, 0), on_model(ranks, 7)}) {
          CHECK(sum_by(*engine, way).algorithm == a);
          CHECK((engine->summing() != nullptr) == (a != Algorithm::ordered && ranks > 1));
          counting::count(*engine, 70, 12);
        }
      }
}

TEST("every method solves by every way, and says which one it was") {
  NOTE(fresh::said());
  fresh::Random random(310);
  for (auto& p : all(random))
    for (auto& m : methods()) {
      if (!takes(m, p)) continue;
      for (const char* way : {"recursive_doubling", "tree", "two_level"})
        for (int ranks : {2, 5}) {
          if (ranks > p.A.n) continue;
          Options o = options(m.name, "host", ranks);
          Solved usual = solve(p.A.view(), p.b, o);
          o.all_reduce = way;
          NOTE(m.name, ", ", p.name, ", ", way, ", ranks = ", ranks);
          Solved s = solve(p.A.view(), p.b, o);
          CHECK(s.report.status == usual.report.status);
          CHECK(s.report.ledger.reductions >= 0);
          double exact = matrices::exact_residual(p.A.view(), p.b, s.x);
          CHECK_NEAR(s.report.residual_norm, exact, 1e-6 * exact + rounding(p.A.view(), s.x, p.b));
        }
    }
}

TEST("a request to stop reaches all ranks in the same iteration") {
  for (Algorithm a : ways) {
    NOTE(name(a));
    for (auto& engine : {on_host(5), on_model(5, 0)}) {
      sum_by(*engine, {.algorithm = a});
      std::vector<int> iterations(5);
      engine->run(
          [&](Rank& rank) {
            Vec e = rank.vector("e", rank.add_space(equal_parts(40, rank.id(), rank.size(), 32)));
            Scal total = rank.scalar("total"), all = rank.scalar("rows");
            Recorded loop = rank.loop({}, [&] {
              rank.run(counting::Count{e}, start(total, all));
              rank.host({.name = "stop", .run = [&](const HostView&) {
                           if (rank.id() == 3 && ++iterations[3] == 4) rank.engine().request_stop();
                         }});
              rank.exit_if(counting::Enough{Get(finish(total)), 1e300});
            });
            Outcome o = rank.replay(loop, 1000);
            CHECK(o.verdict == asked_to_stop);
            iterations[std::size_t(rank.id())] = o.iterations;
          },
          {});
      CHECK(iterations[0] >= 4);
      CHECK(iterations[0] <= 6);
      for (int i : iterations) CHECK(i == iterations[0]);
    }
  }
}

TEST("a rank whose part is lost is named, and all end") {
  for (Algorithm a : ways) {
    host::HostEngine engine({.ranks = 4, .timeout = 0.3});
    sum_by(engine, {.algorithm = a});
    engine.loses = [](Rank& rank, const Command& c, Op op, int iteration) {
      return rank.id() == 2 && c.name == "Square" && op == Op::start && iteration == 3;
    };
    std::string cause = cause_of(engine, [&](Rank& rank) {
      Vec e = rank.vector("e", rank.add_space(equal_parts(40, rank.id(), rank.size(), 32)));
      Scal squares = rank.scalar("squares");
      Recorded loop = rank.loop({}, [&] {
        rank.run(counting::Square{e}, start(squares));
        rank.exit_if(counting::Enough{Get(finish(squares)), 1e300});
      });
      rank.replay(loop, 1000);
    });
    NOTE(name(a), ": ", cause);
    CHECK(cause.find(": waited 0.3 s without any progress for rank ") != std::string::npos);
    CHECK(cause.find("the reduction into 'squares', epoch ") != std::string::npos);
  }
}

TEST("a rank that throws ends all of them, by every way, and a new engine works") {
  for (Algorithm a : ways) {
    NOTE(name(a));
    for (Op op : {Op::start, Op::finish}) {
      host::HostEngine engine({.ranks = 4, .timeout = 20});
      sum_by(engine, {.algorithm = a});
      engine.probe = [op](Rank& rank, const Command& c, Op at, int iteration) {
        if (rank.id() == 1 && at == op && iteration == 2 && c.name != "Drain") throw Error(Errc::device, "boom");
      };
      std::string cause = cause_of(engine, [&](Rank& rank) {
        Vec e = rank.vector("e", rank.add_space(equal_parts(40, rank.id(), rank.size(), 32)));
        Scal total = rank.scalar("total"), all = rank.scalar("rows");
        Recorded loop = rank.loop({}, [&] {
          rank.run(counting::Count{e}, start(total, all));
          rank.exit_if(counting::Enough{Get(finish(total)), 1e300});
        });
        rank.replay(loop, 1000);
      });
      CHECK(cause.ends_with("iteration 2: boom"));
    }
    auto fresh_engine = on_host(4);
    sum_by(*fresh_engine, {.algorithm = a});
    counting::count(*fresh_engine, 10, 3);
  }
}

TEST("ways that an engine does not have are refused with a sentence") {
  auto engine = on_host(2);
  CHECK_THROWS(sum_by(*engine, {.algorithm = Algorithm::mpi}), Error, "needs several MPI processes");
  CHECK_THROWS(sum_by(*engine, {.algorithm = Algorithm::nccl}), Error, "whose ranks send to each other by NCCL");
  CHECK_THROWS(sum_by(*engine, {.algorithm = Algorithm::tree, .reduce_degree = 7}), Error, "degree 2, 3 or 4, not 7");
  CHECK(engine->summing() == nullptr);
}

TEST("fastest is what the description says, and the engine's own way where nothing is faster") {
  model::Options o;
  o.machine.reduction_base_s = 2e-6;
  o.machine.reduction_hop_s = 0;
  o.ranks = 64;
  CHECK(sum_by(*std::make_unique<model::ModelEngine>(o), {.algorithm = Algorithm::fastest}).algorithm == Algorithm::ordered);
  o.machine.reduction_base_s = 500e-6;
  CHECK(sum_by(*std::make_unique<model::ModelEngine>(o), {.algorithm = Algorithm::fastest}).algorithm ==
        Algorithm::recursive_doubling);
  o.machine.ranks_per_node = 8;
  o.machine.internode_latency_s = 50e-6;
  CHECK(sum_by(*std::make_unique<model::ModelEngine>(o), {.algorithm = Algorithm::fastest}).algorithm != Algorithm::ordered);
}
