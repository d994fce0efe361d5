// Bandwidth: large messages of one pair, and all-gathers, each beside the peer that users have otherwise.
#include <algorithm>
#include <memory>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/all_gather.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/nccl.hpp"
#include "sordino/runtime/cuda/put.hpp"

namespace sordino::cuda {
namespace {

std::vector<double> random_words(i64 n, int rank) {
  std::vector<double> v(std::size_t(n), 0.0);
  for (i64 i = 0; i < n; i++) v[std::size_t(i)] = noise(u64(rank), 7, u64(i));
  return v;
}

void check_words(Team& team, int rank, const Symmetric<double>& at, const std::vector<double>& wanted, i64 first,
                 const char* who) {
  std::vector<double> found(wanted.size());
  team.read(rank, at, found.data(), i64(found.size()), first);
  if (found != wanted) throw Error(Errc::device, std::string(who) + " left wrong data on rank " + std::to_string(rank));
}

// --- one pair --------------------------------------------------------------------------------------------------------------

enum class Way { kernel, engine, copy };

/// The first and the last rank of a team; others, where several processes of several ranks take part, only look on.
struct Pair {
  const CommPlan& plan;
  Team team;
  TeamSignals signals;
  Symmetric<double> from, to;

  Pair(const CommPlan& p, const TeamOptions& options, i64 words)
      : plan(p), team(team_for(p, options)), signals(team.signals("a large message")) {
    from = team.array<double>(words);
    to = team.array<double>(words);
    for (int r : {0, last()}) team.write(r, from, random_words(words, r).data(), words);
  }
  int last() const { return team.size() - 1; }
  int other(int rank) const { return last() - rank; }

  const char* name_of(Way way) const {
    if (way == Way::kernel) return "our kernel, with its signal";
    if (way == Way::engine) return "the copy engine, with our signal";
    return plan.processes ? "cudaMemcpyAsync, to mapped memory" : "cudaMemcpyPeerAsync";
  }
  CommFigure figure(Way way, i64 bytes, const BatchTimer& timer, int ways, const std::string& remark) const {
    CommFigure f{.what = "put", .way = name_of(way), .ranks = team.size(), .bytes = bytes, .remark = remark};
    if (plan.processes) f.remark += "; " + layout(plan, team.size());
    timer.add_to(f, plan);
    f.median /= ways;
    f.p99 /= ways;
    f.bandwidth = double(bytes) / f.median;
    return f;
  }
  /// What users have otherwise, on the rank's stream. Another process's device has no number here.
  void copy(TeamRank& rank, double* there, i64 bytes) const {
    const double* mine = rank.team().mine(from);
    if (plan.processes)
      call("cudaMemcpyAsync", cudaMemcpyAsync(there, mine, std::size_t(bytes), cudaMemcpyDeviceToDevice, rank.stream()));
    else
      call("cudaMemcpyPeerAsync",
           cudaMemcpyPeerAsync(there, team.device(other(rank.id())), mine, rank.device(), std::size_t(bytes), rank.stream()));
  }
};

CommFigure time_pair(Pair& p, Way way, i64 bytes, bool both) {
  const i64 words = bytes / 8;
  const int count = int(std::clamp<i64>((1 << 28) / bytes, 4, 100));
  BatchTimer timer(p.team.size(), 15, count);
  std::vector<double> zeros(std::size_t(words), 0.0);
  for (int r : {0, p.last()}) p.team.write(r, p.to, zeros.data(), words);
  auto sends = [&](int rank) { return rank == 0 || (both && rank == p.last()); };
  auto receives = [&](int rank) { return rank == p.last() || (both && rank == 0); };
  p.team.run([&](TeamRank& rank) {
    const DeviceTeam& t = rank.team();
    const int other = p.other(rank.id());
    load_puts(rank);
    double *there = t.at(other, p.to), *from = t.mine(p.from);
    Behind behind = Behind::anything;
    auto issue = [&] {
      if (!sends(rank.id())) return;
      if (way == Way::copy)
        p.copy(rank, there, bytes);
      else
        put(rank, p.signals, other, there, from, words, way == Way::kernel ? By::kernel : By::engine, behind);
      behind = Behind::put;
    };
    timer.run(rank, issue, [&] { behind = Behind::anything; });
    // What was put has come when its signal has: only then is it looked at.
    if (receives(rank.id()) && way != Way::copy)
      for (int i = 0; i < timer.issued(); i++) await_put(rank, p.signals, other);
  });
  check_on_each(p.team, [&](int r) {
    if (receives(r)) check_words(p.team, r, p.to, random_words(words, p.other(r)), 0, p.name_of(way));
  });
  return p.figure(way, bytes, timer, 1, both ? "both directions at once" : "one direction");
}

/// There and back, each message sent when the other has come: `Way::copy` by events of two streams, which one thread issues,
/// and so in one process only.
CommFigure time_to_and_fro(Pair& p, Way way, i64 bytes) {
  const i64 words = bytes / 8;
  const int count = int(std::clamp<i64>((1 << 28) / bytes, 4, 100));
  BatchTimer timer(p.team.size(), 15, count);
  cudaStream_t streams[2] = {};
  cudaEvent_t events[2] = {};
  p.team.run([&](TeamRank& rank) {
    const DeviceTeam& t = rank.team();
    const int me = rank.id(), other = p.other(me), nth = me == 0 ? 0 : 1;
    load_puts(rank);
    if (is_of_pair(rank)) {
      streams[nth] = rank.stream();
      call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&events[nth], cudaEventDisableTiming));
    }
    rank.barrier();
    auto copy = [&](int from) {
      int to = 1 - from;
      call("cudaMemcpyPeerAsync", cudaMemcpyPeerAsync(t.at(to, p.to), p.team.device(to), t.at(from, p.from),
                                                      p.team.device(from), std::size_t(bytes), streams[from]));
      OnDevice on(p.team.device(from));
      call("cudaEventRecord", cudaEventRecord(events[from], streams[from]));
      call("cudaStreamWaitEvent", cudaStreamWaitEvent(streams[to], events[from], 0));
    };
    timer.run(rank, [&] {
      By by = way == Way::kernel ? By::kernel : By::engine;
      if (!is_of_pair(rank)) return;
      if (way == Way::copy) {
        if (me == 0) copy(0), copy(1);
        return;
      }
      if (me > 0) await_put(rank, p.signals, other);
      put(rank, p.signals, other, t.at(other, p.to), t.mine(p.from), words, by);
      if (me == 0) await_put(rank, p.signals, other);
    });
    rank.barrier();
    if (is_of_pair(rank)) call("cudaEventDestroy", cudaEventDestroy(events[nth]));
  });
  return p.figure(way, bytes, timer, 2, "to and fro, one way");
}

// --- all-gathers -----------------------------------------------------------------------------------------------------------

/// NCCL on the devices of a team; null where it cannot be had, and why.
std::unique_ptr<Nccl> find_nccl(const CommPlan& plan, const Team& team, std::string& why_not) {
  std::vector<int> devices;
  for (int r = 0; r < team.size(); r++) devices.push_back(team.device(r));
  try {
    auto nccl = std::make_unique<Nccl>(plan.nccl);
    nccl->join(nccl->make_id(), team.size(), 0, devices);
    return nccl;
  } catch (const Error& e) {
    why_not = e.what();
    return nullptr;
  }
}

CommFigure time_gather(const CommPlan& plan, int ranks, i64 part, bool by_nccl) {
  const i64 words = part * ranks;
  CommFigure f{.what = "all-gather", .way = by_nccl ? "NCCL" : "one kernel a rank", .ranks = ranks, .bytes = words * 8};
  TeamOptions options = team_options(plan, ranks);
  options.window = std::size_t(words) * 8 + (1 << 20);
  options.longest = 60;
  Team team = team_for(plan, options);
  AllGather gather = make_all_gather(team);
  auto whole = team.array<double>(words);
  std::unique_ptr<Nccl> nccl = by_nccl ? find_nccl(plan, team, f.remark) : nullptr;
  if (by_nccl && !nccl) return f;
  if (nccl) f.way += " " + nccl->version();
  for (int r = 0; r < ranks; r++) team.write(r, whole, random_words(part, r).data(), part, r * part);
  BatchTimer timer(ranks, 15, 50);
  team.run([&](TeamRank& rank) {
    load_all_gather(rank);
    double* all = rank.team().mine(whole);
    timer.run(rank, [&] {
      if (nccl)
        nccl->all_gather(rank.id(), all + rank.id() * part, all, part, rank.stream());
      else
        all_gather(rank, gather, whole, part);
    });
  });
  timer.add_to(f, plan);
  f.bandwidth = double(part) * 8 * (ranks - 1) / f.median;
  f.remark = std::to_string(part * 8 / 1024) + " KiB of each rank; GB/s into each rank";
  if (plan.processes) f.remark += "; " + layout(plan, ranks);
  check_on_each(team, [&](int r) {
    for (int from = 0; from < ranks; from++) check_words(team, r, whole, random_words(part, from), from * part, f.way.c_str());
  });
  return f;
}

CommFigure time_nccl_values(const CommPlan& plan, Team& team, Nccl& nccl, int values) {
  const int ranks = team.size();
  CommFigure f{.what = "nccl-all-reduce", .way = "NCCL " + nccl.version(), .ranks = ranks, .bytes = 8 * values};
  f.remark = "a thread a GPU, on streams";
  auto x = team.array<double>(values);
  // Sums of sums grow by the number of ranks each: from very small to large, and exactly where that is a power of two.
  const std::vector<double> small(std::size_t(values), 0x1p-900);
  BatchTimer timer(ranks, 30, 400);
  team.run([&](TeamRank& rank) {
    double* mine = rank.team().mine(x);
    timer.run(
        rank, [&] { nccl.all_reduce(rank.id(), mine, values, rank.stream()); },
        [&] {
          call("cudaMemcpyAsync", cudaMemcpyAsync(mine, small.data(), small.size() * 8, cudaMemcpyHostToDevice, rank.stream()));
        });
  });
  timer.add_to(f, plan);
  double wanted = 0x1p-900;
  for (int i = 0; i < timer.count(); i++) wanted *= ranks;
  if ((ranks & (ranks - 1)) == 0)
    for (int r = 0; r < ranks; r++) check_words(team, r, x, std::vector<double>(std::size_t(values), wanted), 0, "NCCL");
  return f;
}

}  // namespace

std::vector<CommFigure> time_puts(const CommPlan& plan) {
  const int ranks = ranks_of_pair(plan);
  if (ranks == 0) return {takes_two_devices("put")};
  constexpr i64 largest = 256 << 20;
  TeamOptions options = team_options(plan, ranks);
  options.window = 2 * largest + (1 << 20);
  Pair pair(plan, options, largest / 8);
  std::vector<CommFigure> figures;
  for (bool both : {false, true})
    for (i64 bytes = 64 << 10; bytes <= largest; bytes *= 4)
      for (Way way : {Way::kernel, Way::engine, Way::copy}) figures.push_back(time_pair(pair, way, bytes, both));
  for (i64 bytes = 64 << 10; bytes <= largest; bytes *= 4)
    for (Way way : {Way::kernel, Way::engine, Way::copy})
      if (way != Way::copy || !plan.processes) figures.push_back(time_to_and_fro(pair, way, bytes));
  return figures;
}

std::vector<CommFigure> time_all_gathers(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 2))
    for (i64 part : {i64(1 << 20) / ranks, i64(1 << 20)})  // 8 MiB in all, and of each
      for (bool by_nccl : {false, true})  // NCCL by threads alone: between processes see the measurements of messages
        if (!by_nccl || !plan.processes) figures.push_back(time_gather(plan, ranks, part, by_nccl));
  return figures;
}

std::vector<CommFigure> time_nccl_all_reduce(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 2)) {
    TeamOptions options = team_options(plan, ranks);
    options.longest = 60;
    Team team(options);
    CommFigure none{.what = "nccl-all-reduce", .way = "NCCL", .ranks = ranks};
    if (auto nccl = find_nccl(plan, team, none.remark))
      for (int values : {1, 2, 4, 8, 16}) figures.push_back(time_nccl_values(plan, team, *nccl, values));
    else
      figures.push_back(none);
  }
  return figures;
}

}  // namespace sordino::cuda
