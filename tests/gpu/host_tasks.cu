// Host tasks on the cuda engine: launches, a task on pinned twins, launches again.
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/runtime/host_task_program.hpp"

using namespace sordino;

TEST("host tasks: a loop with one computes what the host does, on 1 to 4 ranks, stopped by its test or at its maximum") {
  test::need_gpu();
  cuda::enable(host_tasks::Kernels{});
  cuda::enable<cuda::SumOrder::fixed>(host_tasks::Kernels{});
  for (int max : {3, 8})
    for (int ranks : {1, 2, 3, 4})
      for (bool deterministic : {false, true}) {
        NOTE("max ", max, ", ", ranks, " ranks", deterministic ? ", deterministic" : "");
        auto host = test::host_engine(ranks);
        cuda::Options o;
        o.deterministic = deterministic;
        auto gpu = test::cuda_engine(ranks, o);
        CHECK((host_tasks::run(*gpu, 24, 400, max) == host_tasks::run(*host, 24, 400, max)));
      }
}

namespace {

struct Count {  // a kernel's own value of the scalar that the task may put
  Get last;
  Put next;
  InOut v;
  SORDINO_HD void head() { next = last + 1; }
  SORDINO_HD Sums<1> row(i32 i) { return {v[i]}; }
};

}  // namespace

TEST("host tasks: a scalar that the task does not put keeps what a kernel gave it") {
  test::need_gpu();
  cuda::enable(KernelList<Kernel<Count>>{});
  auto count = [](Engine& engine) {
    double value = 0;
    engine.run([&](Rank& s) {
      int space = s.add_space(equal_parts(100, s.id(), s.size()));
      Vec v = s.vector("v", space);
      Scal a = s.scalar("a", 0), b = s.scalar("b", 0), sum = s.scalar("sum");
      int calls = 0;
      auto loop = s.loop({.scalars = {{b, a}}}, [&] {
        s.run(Count{a, b, v}, start(sum));
        s.host({.name = "sometimes", .gets = {finish(sum), b}, .puts = {b}, .run = [&](const HostView& host) {
                  if (++calls % 3 == 0) host.put(b, host.get(b) + 100);
                }});
      });
      s.replay(loop, 8);
      if (s.id() == 0) value = s.get(a);
    });
    return value;
  };
  for (int ranks : {1, 2}) {
    auto host = test::host_engine(ranks);
    auto gpu = test::cuda_engine(ranks);
    CHECK(count(*host) == 208);
    CHECK(count(*gpu) == 208);
  }
}

TEST("host tasks: one that throws fails all ranks with its cause") {
  test::need_gpu();
  auto gpu = test::cuda_engine(2);
  auto job = [](Rank& s) {
    auto r = s.record([&] {
      s.host({.name = "brew", .run = [&](const HostView&) {
                if (s.id() == 1) throw std::runtime_error("out of coffee");
              }});
    });
    s.replay(r);
  };
  CHECK_THROWS(gpu->run(job, {}), Error, "out of coffee");
}
