// What a team of one rank starts in streams of its caller's: in order, not waited for, and its faults told afterwards.
#include <chrono>

#include "sordino/runtime/cuda/call.hpp"
#include "team.hpp"

using namespace sordino;
using cuda::call, cuda::DeviceTeam, cuda::Team, cuda::TeamRank, cuda::TeamSignals;
using test::team_options;

namespace {

__device__ void pass_time(u64 nanoseconds) {
  for (const u64 begin = cuda::nanoseconds(); cuda::nanoseconds() - begin < nanoseconds;) {
  }
}
/// Not the same in another order.
__global__ void take_step(const __grid_constant__ DeviceTeam t, cuda::Symmetric<u32> number, u32 k, u64 late) {
  pass_time(late);
  u32* const at = t.mine(number);
  *at = 3 * *at + k;
}
__global__ void wait_in_vain(const __grid_constant__ DeviceTeam t, TeamSignals s) { cuda::wait_signal(t, s, 0, 42); }

/// Which others do not wait for.
struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
};

}  // namespace

TEST("team: what is started in streams of the caller's comes in the order in which it was started, and before a run") {
  test::need_gpu();
  Team team(team_options(1));
  const auto number = team.array<u32>(1);
  const Stream one, other;
  u32 wanted = 0;
  for (u32 k = 0; k < 12; k++) {
    const auto step = [&](TeamRank& rank) {
      rank.launch({.threads = 1}, take_step, rank.team(), number, k, k % 3 ? 0 : 2000000);
    };
    if (k % 4 == 3)
      team.run(step);
    else
      team.start(k % 4 == 2 ? cudaStreamLegacy : k % 2 ? one.stream : other.stream, step);
    wanted = 3 * wanted + k;
    if (k == 5) team.settle();
  }
  u32 found = 0;
  team.read(0, number, &found, 1);
  CHECK(found == wanted);
  CHECK(!team.has_failed());
  team.start(one.stream, [&](TeamRank& rank) { rank.launch({.threads = 1}, take_step, rank.team(), number, 0u, 5000000); });
}  // and is waited for when the team goes

TEST("team: what has waited in vain in a caller's stream is told by whoever comes next") {
  test::need_gpu();
  for (int next = 0; next < 3; next++) {
    NOTE("told by ", next == 0 ? "settle" : next == 1 ? "start" : "run");
    auto o = team_options(1, 41);
    o.timeout = 0.3;
    Team team(o);
    const TeamSignals signals = team.signals("faces");
    const Stream own;
    const auto begin = std::chrono::steady_clock::now();
    team.start(own.stream, [&](TeamRank& rank) { rank.launch({.threads = 1}, wait_in_vain, rank.team(), signals); });
    const std::string cause = "a kernel waited 0.3 s for rank 0's signal of 'faces', epoch 42 (seen 41)";
    if (next == 1) call("cudaStreamSynchronize", cudaStreamSynchronize(own.stream));
    if (next == 0) CHECK_THROWS(team.settle(), Error, cause);
    if (next == 1) CHECK_THROWS(team.start(own.stream, [](TeamRank&) {}), Error, cause);
    if (next == 2) CHECK_THROWS(team.run([](TeamRank&) {}), Error, cause);
    CHECK(team.has_failed());
    CHECK_THROWS(team.settle(), Error, "this team has failed before");
    CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 8);
  }
}

TEST("team: captured streams, and teams of several ranks, start nothing in a caller's stream") {
  test::need_gpu();
  Team team(team_options(1));
  const Stream own;
  const auto nothing = [](TeamRank&) {};
  call("cudaStreamBeginCapture", cudaStreamBeginCapture(own.stream, cudaStreamCaptureModeRelaxed));
  CHECK_THROWS(team.start(own.stream, nothing), Error, "this stream is captured");
  cudaGraph_t graph = nullptr;
  call("cudaStreamEndCapture", cudaStreamEndCapture(own.stream, &graph));
  call("cudaGraphDestroy", cudaGraphDestroy(graph));
  team.start(own.stream, nothing);  // nothing has happened to it
  team.settle();
  Team two({.ranks = 2, .devices = {0}});
  CHECK_THROWS(two.start(own.stream, nothing), Error,
               "a team of one rank starts work in a caller's stream, and this one has 2");
  two.settle();
}
