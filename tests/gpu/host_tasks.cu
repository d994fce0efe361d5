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
