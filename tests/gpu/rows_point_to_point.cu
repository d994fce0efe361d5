// Rows of vectors between ranks of the cuda engine, outside of recordings: from GPU to GPU, through pinned memory, and on a GPU
// that ranks share.
#include <chrono>

#include "on_gpu.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"
#include "unit/comm/row_messages.hpp"
#include "within.hpp"

using namespace sordino;
using row_messages::Ring;
using row_messages::Values;

namespace {

struct Way {
  const char* what;
  cuda::Options options;
  bool straight;  // from GPU to GPU
};

std::vector<Way> ways(int ranks) {
  cuda::Options one_device, host, far;
  one_device.devices = {0};
  one_device.sharing = cuda::Sharing::always;
  host.links = cuda::Links::host;
  far.all_far = true;
  std::vector<Way> all{{"as it comes", {}, true}, {"one GPU", one_device, true}, {"through host memory", host, false}};
  if (ranks > 1 && test::gpus() >= ranks) all.push_back({"no peer access", far, false});
  return all;
}

template <class Job>
void on_gpus(std::initializer_list<int> counts, const Job& job) {
  test::need_gpu();
  cuda::enable(row_messages::Kernels{});
  for (int ranks : counts)
    for (Way& way : ways(ranks)) {
      NOTE(ranks, " ranks, ", way.what);
      auto engine = test::cuda_engine(ranks, way.options);
      job(*engine, way);
    }
}

/// Fills late, so that who does not wait for it finds what was there before.
__global__ void fill_late(double* x, int count, double value) {
  for (int n = 0; n < 20000; n++) __nanosleep(1000);
  for (int i = threadIdx.x; i < count; i += blockDim.x) x[i] = value;
}

/// What a run says that is to fail, in bounded time.
std::string cause_of(cuda::CudaEngine& engine, const std::function<void(Rank&)>& job) {
  auto begin = std::chrono::steady_clock::now();
  std::string cause = "no failure";
  try {
    engine.run(job, {});
  } catch (const Error& e) {
    cause = e.what();
  }
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 10);
  return cause;
}

}  // namespace

TEST("rows point to point: arrive where they belong, in the order of their channel, beside replays and host data") {
  on_gpus({1, 2, 3, 4}, [](cuda::CudaEngine& engine, const Way&) { row_messages::all(engine); });
}

TEST("rows point to point: the ledger says what brought them") {
  on_gpus({2, 4}, [](cuda::CudaEngine& engine, const Way& way) {
    Carrier by = way.straight ? Carrier::peer_memory : Carrier::host_memory;
    CHECK(engine.row_port().carrier(0, 1) == by);
    CHECK(engine.row_port().reaches(0, 1) == way.straight);
    CHECK(engine.row_port().reaches(1, 1));
  });
}

TEST("rows point to point: millions of words, at odd places, in several pieces at once") {
  on_gpus({2, 4}, [](cuda::CudaEngine& engine, const Way&) {
    engine.run(
        [](Rank& s) {
          constexpr i32 many = 3'000'001, pieces = 3, piece = 999'999;
          Communicator c(s, 20);
          int space = s.add_space(equal_parts(many, s.id(), s.size()));
          int next = (s.id() + 1) % s.size(), before = (s.id() + s.size() - 1) % s.size();
          Vec a = s.vector("a", space), b = s.vector("b", space);
          s.write(a, row_messages::words_of(s.id(), many).data());
          std::vector<Pending<void>> under_way;
          for (i32 k = 0; k < pieces; k++) under_way.push_back(c.start_receive(before, {b, k * piece, piece}));
          for (i32 k = 0; k < pieces; k++) under_way.push_back(c.start_send(next, {a, 1 + k * piece, piece}));
          for (auto& p : under_way) p.get();
          Values got(many);
          s.read(b, got.data());
          CHECK(got == row_messages::with(Values(many, 0.0), 0, row_messages::words_of(before, many), 1, pieces * piece));
        },
        {});
  });
}

TEST("rows point to point: they come behind the caller's streams of both ranks, and get() waits for the copy") {
  constexpr int count = 1000;
  on_gpus({2, 4}, [](cuda::CudaEngine& engine, const Way&) {
    engine.run(
        [&](Rank& s) {
          int device = 0;
          cuda::call("cudaGetDevice", cudaGetDevice(&device));
          test::OnGpu<double> from(Values(count, 0.0), device), to(Values(count, 0.0), device);
          cudaStream_t callers = nullptr;
          cuda::call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&callers, cudaStreamNonBlocking));
          int space = s.add_space(equal_parts(count, s.id(), s.size()));
          Vec a = s.wrap("a", space, from.get()), b = s.wrap("b", space, to.get());
          Communicator c(s, 20);
          c.barrier();  // all have allocated
          for (int k = 1; k <= 3; k++) {
            fill_late<<<1, 256, 0, callers>>>(from.get(), count, 10.0 * k + s.id());
            fill_late<<<1, 256, 0, callers>>>(to.get(), count, -1.0);
            engine.follow(s, callers);
            auto coming = c.start_receive((s.id() + s.size() - 1) % s.size(), {b, 0, count - 1});
            auto going = c.start_send((s.id() + 1) % s.size(), {a, 1, count - 1});
            CHECK(test::within(10, [&] { return going.test() && coming.test(); }));
            going.get();
            coming.get();
            Values got(count);
            cuda::call("cudaMemcpyAsync", cudaMemcpyAsync(got.data(), to.get(), count * 8, cudaMemcpyDeviceToHost, callers));
            cuda::call("cudaStreamSynchronize", cudaStreamSynchronize(callers));
            Values expected(count, 10.0 * k + (s.id() + s.size() - 1) % s.size());
            expected.back() = -1;
            CHECK(got == expected);
          }
          cudaStreamDestroy(callers);
          c.barrier();  // nobody frees while others are at work
        },
        {});
  });
}

TEST("rows point to point: nothing is made on a device once as many were under way as ever") {
  on_gpus({2}, [](cuda::CudaEngine& engine, const Way&) {
    engine.run(
        [&](Rank& s) {
          Ring ring(s);
          Communicator c(s, 20);
          i64 before = 0;
          for (int round = 0; round < 5; round++) {
            std::vector<Pending<void>> under_way;
            for (i32 k = 0; k < 8; k++) under_way.push_back(c.start_receive(ring.before, {ring.b, 10 * k, 10}));
            for (i32 k = 0; k < 8; k++) under_way.push_back(c.start_send(ring.next, {ring.a, 10 * k, 10}));
            for (auto& p : under_way) p.get();
            c.barrier();  // both users have dropped their marks
            if (round == 0) before = engine.counters(s.id()).allocations;
          }
          CHECK(engine.counters(s.id()).allocations == before);
        },
        {});
  });
}

TEST("rows point to point: what is wrong is one sentence on all ranks, in bounded time") {
  on_gpus({3}, [](cuda::CudaEngine& works, const Way& way) {
    cuda::Options impatient = way.options;
    impatient.timeout = 0.5;
    auto said = [&](const std::function<void(Rank&, Ring&, Communicator&)>& job) {
      auto engine = test::cuda_engine(3, impatient);
      std::string cause = cause_of(*engine, [&](Rank& s) {
        Ring ring(s);
        Communicator c(s, 20);
        job(s, ring, c);
      });
      NOTE(cause);
      CHECK_THROWS(engine->run([](Rank&) {}, {}), Error, "these ranks have failed before");
      return cause;
    };
    CHECK(said([](Rank& s, Ring& ring, Communicator& c) {
            auto coming = c.start_receive(ring.before, {ring.b, 0, s.id() == 1 ? 4 : 5});
            auto going = c.start_send(ring.next, {ring.a, 0, 5});
            going.get();
            coming.get();
            c.barrier();
          }) == "rank 1: rank 1 receives 4 rows into 'b' (channel 20), and rank 0 sends 5");
    CHECK(said([](Rank& s, Ring& ring, Communicator& c) {
            if (s.id() == 0) c.send(1, {ring.a, 0, 5});  // which waits for this one, and so does rank 2 in the end
            auto coming = c.start_receive(ring.before, {ring.b, 0, s.id() == 1 ? 4 : 5});
            c.send(ring.next, {ring.a, 0, 5});
            coming.get();
          }) == "rank 1: rank 1 receives 4 rows into 'b' (channel 20), and rank 0 sends 5");
    CHECK(said([](Rank& s, Ring& ring, Communicator& c) {
            if (s.id() == 2) throw Error(Errc::io, "no more paper");
            c.receive(2, {ring.b, 0, 5});
          }) == "rank 2: no more paper");
    CHECK(said([](Rank& s, Ring& ring, Communicator& c) {
            if (s.id() == 2) c.receive(1, {ring.b, 0, 5});
          }).find("5 rows of rank 1 for 'b' (channel 20)") != std::string::npos);
    if (way.straight)
      CHECK(said([](Rank& s, Ring& ring, Communicator& c) {
              if (s.id() == 0) c.send(1, {ring.a, 0, 5});
            }).find("rank 1 to receive 5 rows of 'a' (channel 20)") != std::string::npos);
    row_messages::all(works);
  });
}
