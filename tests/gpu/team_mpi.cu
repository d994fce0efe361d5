// Teams of several processes, with one GPU for each rank: kernels put, sum and wait across processes as within one, and all
// processes say the same of a failure.
#include <chrono>
#include <functional>
#include <thread>

#include "conformance/mpi_world.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/put.hpp"
#include "sordino/runtime/hall.hpp"
#include "team.hpp"

using namespace sordino;
using namespace mpi_world;
using cuda::By, cuda::DeviceTeam, cuda::Symmetric, cuda::Team, cuda::TeamRank, cuda::TeamSignals, cuda::TeamSlots;

namespace {

using test::gpus;

/// Ranks of each process for which there are GPUs; skips the test where there are not even enough for one.
std::vector<int> ranks_per_process() {
  if (gpus() < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", gpus());
  std::vector<int> all{1};
  if (gpus() >= 2 * processes()) all.push_back(2);
  return all;
}

std::unique_ptr<Team> make_team(int ranks, double timeout = 20) {
  cuda::TeamOptions o;
  o.timeout = timeout;
  return std::make_unique<Team>(o, mpi::hall(MPI_COMM_WORLD, ranks));
}

struct Failure {
  std::string cause = "no failure";
  double seconds = 0;
};

/// What a run, or the making of a team, says here; all processes must say the same.
template <class Job>
Failure failure_of(const Job& job) {
  Failure f;
  Cause known;
  double begin = seconds_now();
  try {
    job();
  } catch (const Error& e) {
    f.cause = e.what();
    known = e.cause();
  }
  f.seconds = seconds_now() - begin;
  NOTE("process ", process(), " says: ", f.cause);
  CHECK(f.cause == of_the_last(f.cause));
  CHECK(all_know(known));
  return f;
}

// --- kernels -----------------------------------------------------------------------------------------------------------------

constexpr int values = 4, threads = cuda::block_threads;

/// One warp: sums of sums, each of which needs the one before.
__global__ void sum_again(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s, u32 epochs,
                          double* result) {
  const int k = threadIdx.x;
  u32 epoch = cuda::last_epoch(t, s);
  double value = 1.0 / (3 * t.rank + k + 1);
  for (u32 e = 0; e < epochs; e++) {
    if (!cuda::all_reduce<values>(t, s, ++epoch, value)) return;
    value *= 0.3;
  }
  if (k < values) result[k] = value;
  if (k == 0) cuda::keep_epoch(t, s, epoch);
}

/// What sum_again leaves in value k of all ranks.
double summed_again(int ranks, int k, u32 epochs) {
  std::vector<double> parts;
  for (int r = 0; r < ranks; r++) parts.push_back(1.0 / (3 * r + k + 1));
  for (u32 e = 0; e < epochs; e++) {
    double sum = 0;
    for (double part : parts) sum += part;
    parts.assign(parts.size(), sum * 0.3);
  }
  return parts[0];
}

/// Started in the tail of one kernel,
__global__ void __launch_bounds__(threads) start_sum(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s,
                                                     const double* x, i64 n) {
  double sums[1] = {};
  for (i64 i = blockIdx.x * i64(threads) + threadIdx.x; i < n; i += gridDim.x * i64(threads)) sums[0] += x[i];
  cuda::start_reduction<1>(t, s, sums);
}
/// and finished in the head of the next.
__global__ void __launch_bounds__(threads) finish_sum(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSlots s,
                                                      double* result) {
  double sums[1];
  if (!cuda::finish_reduction<1>(t, s, sums)) return;
  if (threadIdx.x == 0) *result = sums[0];
}

/// One block a rank writes its round on all others; behind the barrier those of all are there.
__global__ void meet(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSignals s, Symmetric<u32> rounds,
                     u32 count, u32* wrong) {
  const i32 peer = threadIdx.x;
  for (u32 round = 1; round <= count; round++) {
    if (peer < t.ranks) cuda::store_relaxed(t.at(peer, rounds) + t.rank, round);
    if (!cuda::team_barrier(t, s, 2 * round - 1)) return;
    if (peer < t.ranks && cuda::load_relaxed(t.mine(rounds) + peer) != round) atomicAdd(wrong, 1u);
    if (!cuda::team_barrier(t, s, 2 * round)) return;
  }
}

__global__ void wait_for(const __grid_constant__ DeviceTeam t, const __grid_constant__ TeamSignals s, i32 from, u32 epoch) {
  cuda::wait_signal(t, s, from, epoch);
}

// --- programs ----------------------------------------------------------------------------------------------------------------

/// Each rank puts words to its right, and looks at those that came from its left.
void put_around(Team& team) {
  constexpr i64 most = 300'001;
  const int ranks = team.size();
  TeamSignals signals = team.signals("words");
  auto from = team.array<double>(most), to = team.array<double>(most);
  for (int r = 0; r < ranks; r++) team.write(r, from, test::random_values(most, r).data(), most);
  team.run([&](TeamRank& rank) {
    const int right = (rank.id() + 1) % ranks, left = (rank.id() + ranks - 1) % ranks;
    const auto wanted = test::random_values(most, left);
    cuda::load_puts(rank);
    rank.barrier();
    for (By by : {By::kernel, By::engine, By::automatic})
      for (i64 n : {i64(1), i64(1000), most}) {
        std::vector<double> found(std::size_t(n), 0.0);
        cudaMemsetAsync(rank.team().mine(to), 0, std::size_t(n) * sizeof(double), rank.stream());
        rank.wait();
        rank.barrier();  // its memory may be overwritten now
        cuda::put(rank, signals, right, rank.team().at(right, to), rank.team().mine(from), n, by);
        cuda::await_put(rank, signals, left);
        rank.wait();
        team.read(rank.id(), to, found.data(), n);
        CHECK(std::equal(found.begin(), found.end(), wanted.begin()));
      }
  });
}

/// Sums inside a kernel are those of the host, and sums of grids have the same bits on all ranks.
void sum_up(Team& team) {
  constexpr i64 n = 100'000;
  constexpr u32 epochs = 1000;
  TeamSlots pair = team.slots("sums of sums", values), dots = team.slots("dots", 1, 100);
  auto result = team.array<double>(values), x = team.array<double>(n), sum = team.array<double>(1);
  for (int r = 0; r < team.size(); r++) team.write(r, x, test::random_values(n, 100 + r).data(), n);
  for (u32 again : {1u, 2u}) {
    NOTE("run ", again);
    team.run([&](TeamRank& rank) {
      rank.load(sum_again);
      rank.load(start_sum);
      rank.load(finish_sum);
      rank.barrier();
      const DeviceTeam& t = rank.team();
      rank.launch({.threads = 32}, sum_again, t, pair, epochs, t.mine(result));
      rank.launch({.blocks = 100}, start_sum, t, dots, t.mine(x), n);
      rank.launch({}, finish_sum, t, dots, t.mine(sum));
      rank.wait();
    });
    double first = 0;
    for (int r = team.first_rank(); r < team.first_rank() + team.local_ranks(); r++) {
      NOTE("rank ", r);
      double found[values], whole = 0;
      team.read(r, result, found, values);
      team.read(r, sum, &whole, 1);
      for (int k = 0; k < values; k++) CHECK(found[k] == summed_again(team.size(), k, epochs));
      if (r == team.first_rank()) first = whole;
      CHECK(whole == first);
    }
    CHECK(first != 0);
    CHECK(agree(first));
  }
}

void works() {
  auto team = make_team(1);
  put_around(*team);
}

}  // namespace

TEST("team of processes: puts with their signals arrive in other processes' windows") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    auto team = make_team(ranks);
    CHECK(team->size() == ranks * processes());
    CHECK(team->first_rank() == ranks * process());
    CHECK(team->local_ranks() == ranks);
    CHECK(!team->shares_devices());
    put_around(*team);
    put_around(*team);  // other arrays of the same windows
  }
}

TEST("team of processes: sums inside kernels have the same bits on all ranks, those of one process") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    auto team = make_team(ranks);
    sum_up(*team);
  }
}

TEST("team of processes: barriers of kernels, and of host threads, are over all processes") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    auto team = make_team(ranks);
    TeamSignals signals = team->signals("rounds");
    auto rounds = team->array<u32>(team->size()), wrong = team->array<u32>(1);
    std::vector<double> came(std::size_t(team->size()), 0.0), left(came);
    team->run([&](TeamRank& rank) {
      const std::size_t me = std::size_t(rank.id());
      rank.load(meet);
      rank.barrier();
      rank.launch({.threads = 64}, meet, rank.team(), signals, rounds, 1000u, rank.team().mine(wrong));
      rank.wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(30 * rank.id()));
      came[me] = seconds_now();
      rank.barrier();
      left[me] = -seconds_now();
    });
    double last = 0, first = -1e300;  // of all processes: who came last, and who left first
    for (int r = team->first_rank(); r < team->first_rank() + ranks; r++) {
      u32 found = 1;
      team->read(r, wrong, &found, 1);
      CHECK(found == 0);
      last = std::max(last, came[std::size_t(r)]);
      first = std::max(first, left[std::size_t(r)]);
    }
    for (double* time : {&last, &first}) MPI_Allreduce(MPI_IN_PLACE, time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(-first >= last);
  }
}

TEST("team of processes: a rank that throws ends the waits of all, who say the same, and a new team works") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    auto team = make_team(ranks, 60);
    TeamSignals signals = team->signals("faces");
    const int last = team->size() - 1;
    Failure f = failure_of([&] {
      team->run([&](TeamRank& rank) {
        rank.load(wait_for);
        rank.barrier();
        if (rank.id() == last) throw Error(Errc::io, "out of paper");
        rank.launch({.threads = 1}, wait_for, rank.team(), signals, last, 7u);
        rank.wait();
        CHECK(false);  // all of them wait in vain
      });
    });
    CHECK(f.cause == "rank " + std::to_string(last) + ": out of paper");
    CHECK(f.seconds < 10);
    CHECK_THROWS(team->run([](TeamRank&) {}), Error, "this team has failed before (rank ");
  }
  works();
}

TEST("team of processes: a signal that never comes is named by all, with its rank, in time") {
  for (int ranks : ranks_per_process()) {
    NOTE(processes(), " processes of ", ranks);
    auto team = make_team(ranks, 0.5);
    TeamSignals signals = team->signals("faces");
    const int last = team->size() - 1;
    Failure f = failure_of([&] {
      team->run([&](TeamRank& rank) {
        rank.load(wait_for);
        rank.barrier();
        if (rank.id() != last) rank.launch({.threads = 1}, wait_for, rank.team(), signals, last, 3u);
        rank.wait();
      });
    });
    CHECK(f.cause.find(": a kernel waited 0.5 s for rank " + std::to_string(last) + "'s signal of 'faces', epoch 3 (seen 0)") !=
          std::string::npos);
    CHECK(f.seconds < 8);
  }
  works();
}

TEST("team of processes: a process that makes other arrays is refused before any kernel runs") {
  ranks_per_process();
  auto team = make_team(1);
  team->array<double>(process() == processes() - 1 ? 1000 : 10);
  bool ran = false;
  Failure f = failure_of([&] { team->run([&](TeamRank&) { ran = true; }); });
  CHECK(f.cause.find("all make the same arrays, slots and signals in the same order") != std::string::npos);
  CHECK(!ran);
}

TEST("team of processes: what one of them cannot do is said by all") {
  ranks_per_process();
  const bool last = process() == processes() - 1;
  const std::string who = "process " + std::to_string(processes() - 1) + ": ";
  auto made = [](const cuda::TeamOptions& o, int ranks, int host = -1) {
    return failure_of([&] { Team(o, mpi::hall(MPI_COMM_WORLD, ranks, host)); }).cause;
  };
  cuda::TeamOptions absent, same, large, crowd;
  if (last) absent.devices = {99};
  CHECK(made(absent, 1).starts_with(who + "there is no device 99: this machine has "));
  same.devices = {0};
  CHECK(made(same, 1).find("in different processes and on the same GPU") != std::string::npos);
  if (last) large.window = std::size_t(1) << 50;
  CHECK(made(large, 1).find("has too little memory for a window of ") != std::string::npos);
  if (last) crowd.devices = {process()};
  CHECK(made(crowd, last ? 2 : 1).find("2 ranks for 1: start fewer ranks") != std::string::npos);
  CHECK(made({}, 9).find("a team takes at most 16 ranks") != std::string::npos);
  std::string apart;
  try {
    Team({}, mpi::hall(MPI_COMM_WORLD, 1, process()));
  } catch (const Error& e) {
    apart = e.what();
  }
  CHECK(apart.find("and these are on several hosts") != std::string::npos);
  works();
}

TEST("team of processes: another process's window is neither read nor written here") {
  ranks_per_process();
  auto team = make_team(1);
  auto x = team->array<u32>(1);
  const int other = (process() + 1) % processes();
  u32 mine = 41u + u32(process()), never = 7, found = 0;
  team->write(process(), x, &mine, 1);
  team->run([](TeamRank&) {});
  team->write(other, x, &never, 1);
  team->run([](TeamRank&) {});
  team->read(process(), x, &found, 1);
  CHECK(found == mine);
  const std::string refusal = "rank " + std::to_string(other) + " of this team is not of this process";
  CHECK_THROWS(team->read(other, x, &found, 1), Error, refusal.c_str());
  CHECK_THROWS(team->on(other), Error, refusal.c_str());
  CHECK_THROWS(team->write(team->size(), x, &never, 1), Error, "is not of this process");
}
