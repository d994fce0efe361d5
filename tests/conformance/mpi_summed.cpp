// Recorded sums by every way there is, over processes: MPI_Iallreduce among them.
#include "check.hpp"
#include "mpi_world.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/comm/recorded_sums.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/comm/counting.hpp"

using namespace problems;
using namespace mpi_world;

namespace {

constexpr Algorithm ways[] = {Algorithm::ordered, Algorithm::recursive_doubling, Algorithm::tree, Algorithm::two_level,
                              Algorithm::mpi};

std::unique_ptr<host::HostEngine> engine(int ranks, bool thread = false, double timeout = 20) {
  return std::make_unique<host::HostEngine>(host::Options{.ranks = ranks, .timeout = timeout, .progress_thread = thread},
                                            mpi::transport(ranks));
}

}  // namespace

TEST("whole numbers add up to the same by every way, in every layout") {
  for (int ranks : {1, 2, 1 + process() % 2})
    for (Algorithm a : ways)
      for (bool thread : {false, true}) {
        NOTE(ranks, " ranks of process ", process(), ", ", name(a), thread ? ", with a thread" : "");
        auto e = engine(ranks, thread);
        CHECK(sum_by(*e, {.algorithm = a}).algorithm == a);
        counting::count(*e, 30, 9);
      }
}

TEST("methods solve by every way, and all processes have the same bits; those of flat ways are those of one process") {
  fresh::Random random = shared_random(320);
  NOTE(fresh::said());
  for (auto& p : all(random))
    for (const char* method : {"cg", "prcg", "pipebicgstab"}) {
      if (!takes(sordino::method(method), p) || p.A.n < 2 * processes()) continue;
      for (const char* way : {"recursive_doubling", "tree", "two_level", "mpi"}) {
        NOTE(method, ", ", p.name, ", ", way);
        Options o = options(method, "host", 1 + process() % 2);
        o.all_reduce = way;
        Solved s = solve(p.A.view(), p.b, o);
        CHECK(s.report.status == Status::converged);
        CHECK(agree(s.report.residual_norm));
        for (double value : s.report.history) CHECK(agree(value));
      }
    }
}

TEST("a rank that throws ends all processes with one cause, by every way") {
  for (Algorithm a : ways) {
    auto e = engine(2);
    sum_by(*e, {.algorithm = a});
    int culprit = e->size() - 1;
    e->probe = [&](Rank& rank, const Command& c, Op at, int iteration) {
      if (rank.id() == culprit && at == Op::start && iteration == 2 && c.name == "Count") throw Error(Errc::device, "boom");
    };
    std::string cause = "no failure";
    try {
      e->run(
          [&](Rank& rank) {
            Vec v = rank.vector("e", rank.add_space(equal_parts(40, rank.id(), rank.size(), 32)));
            Scal total = rank.scalar("total"), all = rank.scalar("rows");
            Recorded loop = rank.loop({}, [&] {
              rank.run(counting::Count{v}, start(total, all));
              rank.exit_if(counting::Enough{Get(finish(total)), 1e300});
            });
            rank.replay(loop, 1000);
          },
          {});
    } catch (const Error& error) {
      cause = error.what();
    }
    NOTE(name(a), ", process ", process(), ": ", cause);
    CHECK(cause.ends_with("iteration 2: boom"));
    CHECK(cause == of_the_last(cause));
  }
}

TEST("MPI's own reductions may be started in another order by every process") {
  auto e = engine(2);
  e->run(
      [](Rank& rank) {
        Communicator a(rank, 20), b(rank, 21);
        auto begin = [](Communicator& c, double value) {
          return c.start_all_reduce(std::vector<double>{value}, Fold::sum, {.algorithm = Algorithm::mpi});
        };
        for (int again = 0; again < 20; again++) {
          bool b_first = (process() + again) % 2 == 1;
          auto first = begin(b_first ? b : a, b_first ? 2 : 1), second = begin(b_first ? a : b, b_first ? 1 : 2);
          double of_first = first.get()[0], of_second = second.get()[0];
          CHECK((b_first ? of_second : of_first) == rank.size());
          CHECK((b_first ? of_first : of_second) == 2 * rank.size());
        }
      },
      {});
}
