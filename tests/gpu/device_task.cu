// Device tasks: a caller's kernels and a memset among the commands of a loop, in every way that a loop reaches the device.
#include "sordino/base/clock.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/runtime/device_task_program.hpp"

using namespace sordino;
using cuda::Looping;
using device_tasks::reached;

namespace {

__global__ void smooth(device_tasks::Chain chain, const double* x, double* y, const double* step, i32 first, i32 stride) {
  i32 i = first + stride * i32(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < chain.rows) y[i] += chain.smooth(x, i, *step);
}

__global__ void count(const double* step, double* next) { *next = *step + 1; }

void smooth_by_kernels(const DeviceView& view, const device_tasks::Names& n) {
  double* y = view.words(n.y);
  cudaMemsetAsync(y, 0, sizeof(double) * std::size_t(n.chain.rows), view.stream());
  for (i32 first : {0, 1}) smooth<<<1, 32, 0, view.stream()>>>(n.chain, view.words(n.x), y, view.get(n.step), first, 2);
  count<<<1, 1, 0, view.stream()>>>(view.get(n.step), view.put(n.next));
}

void need_kernels() {
  test::need_gpu();
  cuda::enable(device_tasks::Kernels{});
  cuda::enable<cuda::SumOrder::fixed>(device_tasks::Kernels{});
}

device_tasks::Result expected(int max, double limit = reached) {
  auto host = test::host_engine(1);
  return device_tasks::run(*host, limit, max, false);
}

device_tasks::Result on_gpus(int ranks, const cuda::Options& options, int max, double limit = reached) {
  auto gpu = test::cuda_engine(ranks, options);
  return device_tasks::run(*gpu, limit, max, true, smooth_by_kernels);
}

__global__ void add_one(double* z, i32 rows) {
  for (i32 i = i32(threadIdx.x); i < rows; i += i32(blockDim.x)) z[i] += 1;
}

constexpr i32 counted = 100;  // words of z

/// Adds 1 to all words of z, and notes how often it was asked to launch that.
DeviceTask count_task(Vec z, int* calls = nullptr) {
  return {.name = "count", .uses = {{z, Access::update}}, .on_device = [=](const DeviceView& view) {
            if (calls) ++*calls;
            add_one<<<1, 128, 0, view.stream()>>>(view.words(z), counted);
          }};
}

std::vector<double> all_of(Rank& s, Vec z) {
  std::vector<double> words(counted);
  s.read(z, words.data());
  return words;
}

std::vector<double> counted_to(double n) { return std::vector<double>(counted, n); }

/// One rank that replays `record`, once, with a vector z to count in.
template <class Record>
void alone(const cuda::Options& options, const Record& record) {
  auto gpu = test::cuda_engine(1, options);
  gpu->run([&](Rank& s) { record(s, s.vector("z", s.add_space(equal_parts(counted, 0, 1)))); });
}

}  // namespace

TEST("device tasks: a loop computes what it does with functors, in chunks, a WHILE graph and launches, on 1, 2 and 4 ranks") {
  need_kernels();
  for (Looping looping : {Looping::automatic, Looping::launches, Looping::while_graph})
    for (int ranks : {1, 2, 4})
      for (auto [chunk, deterministic] : {std::pair(4, false), {4, true}, {20, false}})
        for (int max : {3, 5, 13}) {  // too short for a graph, ended by it, stopped in the sixth
          NOTE("looping ", int(looping), ", ", ranks, " ranks, chunk ", chunk, ", max ", max, deterministic ? ", ordered" : "");
          cuda::Options o;
          o.looping = looping;
          o.chunk = chunk;
          o.deterministic = deterministic;
          CHECK((on_gpus(ranks, o, max) == expected(max)));
        }
}

TEST("device tasks: behind launches that are not chained, where ranks share a device, over host memory, with single times") {
  need_kernels();
  for (int ranks : {1, 2, 4})
    for (int max : {5, 13}) {
      cuda::Options plain, stays, shared, carried, timed;
      plain.chain = false;
      stays.looping = Looping::resident;  // which it does not, for this
      shared.devices = {0};
      shared.sharing = cuda::Sharing::always;
      carried.links = cuda::Links::host;
      timed.time_commands = true;
      for (auto& [name, o] : {std::pair("not chained", plain),
                              {"to stay", stays},
                              {"one device", shared},
                              {"host memory", carried},
                              {"timed", timed}}) {
        NOTE(ranks, " ranks, max ", max, ", ", name);
        if (o.links == cuda::Links::host && ranks > test::gpus())
          CHECK_THROWS(on_gpus(ranks, o, max), Error, "smooth: a device task does not run on ranks that share a GPU");
        else
          CHECK((on_gpus(ranks, o, max) == expected(max)));
      }
    }
}

TEST("device tasks: where all messages go by NCCL") {
  test::need_nccl();
  need_kernels();
  for (int max : {5, 13}) CHECK((on_gpus(2, test::by_nccl(), max) == expected(max)));
}

TEST("device tasks: beside a host task, in the stretches between such") {
  need_kernels();
  for (int ranks : {1, 2}) {
    auto gpu = test::cuda_engine(ranks);
    auto beside = [](Rank& s, Vec y) {
      s.host({.name = "look", .uses = {{y, Access::update}}, .run = [y](const HostView& host) { host.words(y)[0] *= 1; }});
    };
    CHECK((device_tasks::run(*gpu, reached, 13, true, smooth_by_kernels, beside) == expected(13)));
  }
}

TEST("device tasks: launches are captured for each turn of a chunk and of the rotation, and not again") {
  need_kernels();
  int calls = 0;
  auto counting = [&](const DeviceView& view, const device_tasks::Names& n) {
    calls++;
    smooth_by_kernels(view, n);
  };
  cuda::Options o;
  o.chunk = 4;
  auto gpu = test::cuda_engine(1, o);
  CHECK((device_tasks::run(*gpu, 1e9, 12, true, counting) == expected(12, 1e9)));
  CHECK(calls == 2 + 4);
}

TEST("device tasks: in a queue of its own, before and behind the exit test of its iteration") {
  need_kernels();
  for (Looping looping : {Looping::automatic, Looping::launches, Looping::while_graph})
    for (bool behind : {false, true}) {
      NOTE("looping ", int(looping), behind ? ", behind" : ", before");
      cuda::Options o;
      o.looping = looping;
      o.chunk = 4;
      alone(o, [&](Rank& s, Vec z) {
        Vec y = s.vector("y", s.add_space(equal_parts(counted, 0, 1)));
        Scal sum = s.scalar("sum");
        auto aside = [&] { s.on(1, [&] { s.device(count_task(z)); }); };
        Recorded loop = s.loop({}, [&] {
          if (!behind) aside();
          s.run(device_tasks::Count{y});
          s.run(device_tasks::Add{y}, start(sum));
          s.exit_if(device_tasks::Enough{finish(sum), 6.0 * counted});
          s.run(Nothing{});
          if (behind) aside();
        });
        CHECK(s.replay(loop, 50).iterations == 6);
        CHECK((all_of(s, z) == counted_to(behind ? 5 : 6)));
        CHECK((all_of(s, y) == counted_to(6)));
      });
    }
}

TEST("device tasks: in a recording that is no loop, once in so many iterations, and in memory of the caller's") {
  need_kernels();
  double* callers = nullptr;
  cudaMalloc(&callers, counted * sizeof(double));
  cudaMemset(callers, 0, counted * sizeof(double));
  cudaDeviceSynchronize();
  alone({}, [&](Rank& s, Vec z) {
    Recorded once = s.record([&] { s.device(count_task(z)); });
    for (int k = 0; k < 3; k++) s.replay(once);
    CHECK((all_of(s, z) == counted_to(3)));

    Recorded seldom = s.loop({}, [&] { s.when(3, [&] { s.device(count_task(z)); }); });
    s.replay(seldom, 31);
    CHECK((all_of(s, z) == counted_to(3 + 10)));

    Vec w = s.wrap("w", s.add_space(equal_parts(counted, 0, 1)), callers);
    Recorded wrapped = s.record([&] { s.device(count_task(w)); });
    s.replay(wrapped);
    CHECK((all_of(s, w) == counted_to(1)));
  });
  cudaFree(callers);
}

TEST("device tasks: what cannot be captured, and what is not there, is refused before anything runs") {
  need_kernels();
  auto refused = [](const DeviceTask& task, const char* sentence) {
    auto gpu = test::cuda_engine(1);
    auto job = [&](Rank& s) {
      Recorded r = s.record([&] { s.device(task); });
      s.replay(r);
    };
    CHECK_THROWS(gpu->run(job), Error, sentence);
  };
  const char* captured = "command transform, whose launches are captured: ";
  refused({.name = "transform", .on_device = [](const DeviceView& v) { cudaStreamSynchronize(v.stream()); }}, captured);
  refused(
      {.name = "transform", .on_device = [](const DeviceView& v) { cudaLaunchHostFunc(v.stream(), [](void*) {}, nullptr); }},
      captured);
  refused({.name = "transform", .on_device = [](const DeviceView&) { throw std::runtime_error("no plan"); }}, "no plan");
  refused({.name = "transform", .on_device = [](const DeviceView& v) { v.words(Vec{0}); }}, "does not say it uses");
  refused({.name = "transform", .on_host = [](const HostView&) {}}, "transform: a device task without on_device");

  int calls = 0;
  alone({}, [&](Rank& s, Vec z) {  // and a task after all those
    Recorded r = s.record([&] { s.device(count_task(z, &calls)); });
    s.replay(r);
    CHECK((all_of(s, z) == counted_to(1)));
  });
  CHECK(calls == 1);
}

TEST("device tasks: its calls, bytes and time are in the ledger") {
  need_kernels();
  cuda::Options o;
  o.time_commands = true;
  alone(o, [&](Rank& s, Vec z) {
    Recorded loop = s.loop({}, [&] { s.device(count_task(z)); });
    s.replay(loop, 10);
    CHECK(s.ledger.memory_bytes == 10 * 16.0 * counted);
    const auto& kernel = s.ledger.kernels.at("count");
    CHECK(kernel.calls == 10);
    CHECK(kernel.bytes == 10 * 16.0 * counted);
    CHECK(kernel.seconds > 0);
  });
}

TEST("device tasks: a rank that sends nothing behind its task is missed, and all ranks fail in bounded time") {
  need_kernels();
  for (Looping looping : {Looping::automatic, Looping::while_graph})
    for (int ranks : {2, 4}) {
      NOTE("looping ", int(looping), ", ", ranks, " ranks");
      cuda::Options o;
      o.looping = looping;
      o.chunk = 4;
      o.timeout = 0.5;
      o.inject = {.rank = 1, .command = "smooth", .iteration = 3, .mute = true};
      double since = seconds_now();
      CHECK_THROWS(on_gpus(ranks, o, 50, 1e9), Error, "waited 0.5 s without any progress for rank ");
      CHECK(seconds_now() - since < 10);
    }
}
