// Pinned twins of vectors on the cuda engine.
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/runtime/twin_program.hpp"

using namespace sordino;

namespace {

constexpr i32 many = 1 << 22;

struct Add {
  InOut v;
  SORDINO_HD void row(i32 i) { v[i] += 1; }
};

bool is_pinned(const double* p) {
  cudaPointerAttributes a{};
  cuda::call("cudaPointerGetAttributes", cudaPointerGetAttributes(&a, p));
  return a.type == cudaMemoryTypeHost;
}

/// Twins of 32 MB come and go beside a loop on another vector; each round stores what the last one fetched.
void stream(Rank& s) {
  int space = s.add_space(equal_parts(many, s.id(), s.size()));
  Vec a = s.vector("a", space), b = s.vector("b", space);
  Recorded on_a = s.record([&] { s.run(Add{a}); });
  Recorded on_b = s.loop({}, [&] { s.run(Add{b}); });
  i64 held = s.twin_bytes();  // of an earlier run
  double* twin = s.twin(a);
  CHECK(is_pinned(twin));
  for (int k = 1; k <= 5; k++) {
    NOTE("round ", k);
    Transfer store = s.start_store(a);
    Replay beside = s.start(on_b, 50);
    store.wait();
    beside.wait();
    s.replay(on_a);
    Transfer fetch = s.start_fetch(a);
    Replay again = s.start(on_b, 50);
    while (!fetch.test()) again.test();
    again.wait();
    CHECK(twin[0] == 2 * k - 1);
    CHECK(std::count(twin, twin + many, twin[0]) == many);
    for (i32 i = 0; i < many; i++) twin[i] += 1;
  }
  s.fetch(b);
  CHECK(s.twin(b)[many - 1] == 500);
  CHECK(s.twin_bytes() - held == 2 * i64(many) * 8);
}

}  // namespace

TEST("twins: on GPUs as on the CPU engines, over memory, host memory and on a shared GPU") {
  test::need_gpu();
  cuda::enable(twins::Kernels{});
  for (int ranks : {1, 2, 3}) {
    NOTE(ranks, " ranks");
    twins::all(*test::cuda_engine(ranks));
  }
  cuda::Options far;
  far.links = cuda::Links::host;
  twins::all(*test::cuda_engine(2, far));
}

TEST("twins: pinned, made once, and copied beside replays of other vectors") {
  test::need_gpu();
  cuda::enable(KernelList<Kernel<Add>>{});
  for (int ranks : {1, 2}) {
    auto engine = test::cuda_engine(ranks);
    i64 before = 0;
    engine->run([&](Rank& s) {
      int space = s.add_space(equal_parts(100, s.id(), s.size()));
      Vec v = s.vector("v", space);
      s.fetch(v);
      if (s.id() == 0) before = engine->counters(0).allocations;
      for (int k = 0; k < 10; k++) s.fetch(v), s.store(v);
      if (s.id() == 0) CHECK(engine->counters(0).allocations == before);
    });
    engine->run(stream);
  }
}

TEST("twins: host tasks work in the vector's twin, whatever buffer its name means") {
  test::need_gpu();
  cuda::enable(KernelList<Kernel<Add>>{});
  test::cuda_engine(1)->run([](Rank& s) {
    int space = s.add_space(equal_parts(100, s.id(), s.size()));
    Vec a = s.vector("a", space), b = s.vector("b", space);
    std::vector<double*> seen;
    Recorded loop = s.loop({.vectors = {{b, a}}}, [&] {
      s.run(Add{a});
      s.host({.name = "look", .uses = {{a, Access::update}}, .run = [&](const HostView& h) {
                seen.push_back(h.words(a));
                for (int i = 0; i < 100; i++) h.words(a)[i] *= 2;
              }});
    });
    s.replay(loop, 3);
    CHECK(seen == std::vector<double*>(3, s.twin(a)));
    CHECK(s.twin_bytes() == 100 * 8);
    std::vector<double> now(100);
    s.read(b, now.data());  // the buffer of the first and the last iteration
    CHECK(now == std::vector<double>(100, 6.0));
  });
}

TEST("twins: a job that leaves a copy under way is told so") {
  test::need_gpu();
  twins::leave_behind(test::cuda_engine(2));
}
