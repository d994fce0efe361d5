#include "sordino/runtime/cuda/program.hpp"

#include <cstdio>

namespace sordino::cuda {
namespace {

constexpr int most_queued = 400;  // entries of a stream that a chunk with NCCL's messages may take: hosts must never wait here
constexpr int launches_of_command = 3;  // at most
constexpr int most_iterations = 20;     // of a chunk that nobody asked for
constexpr int enough_commands = 256;    // in a chunk: the host launches the next one meanwhile
constexpr int of_messages = 8;          // entries that a group of messages takes, about

}  // namespace

CudaProgram::CudaProgram(std::shared_ptr<State> state, Rank& rank, const Recording& recording,
                         const std::vector<int>& vector_map, const std::vector<int>& scalar_map)
    : keep_(std::move(state)),
      state_(*keep_),
      rank_(rank),
      mine_(state_.of(rank)),
      rec_(recording),
      tally_(rank, recording, vector_map, scalar_map),
      plan_(state_, rank, recording, vector_map, scalar_map),
      tasks_(mine_, plan_, recording.period, rank.size()),
      streams_(mine_, rank, recording, state_.shared || plan_.on_host),
      copies_(rank, mine_, recording, vector_map),
      scalars_(i32(rank.scalar_values.size())) {
  int major = 0;
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, mine_.device));
  chains_ = state_.options.chain && !state_.shared && major >= 9;
  if (rec_.is_loop) chunk_ = tally_.cycle() * std::max(1, wanted_iterations() / tally_.cycle());
  if (rec_.is_loop && state_.nccl) {
    int entries = 0;  // the same on all ranks, whatever each of them sends: so it is counted in the recording
    for (auto& c : rec_.commands) {
      bool puts = std::any_of(c.phases.begin(), c.phases.end(), [](auto& p) { return p.op == Op::put; });
      entries += launches_of_command + of_messages * (int(puts) + int(c.starts >= 0));
    }
    chunk_ = tally_.cycle() * std::clamp(most_queued / (tally_.cycle() * std::max(1, entries)), 1, chunk_ / tally_.cycle());
  }
  repeats_ = rec_.is_loop && state_.options.looping == Looping::while_graph && !state_.nccl && state_.has_device_each();
  if (i64 tests = tally_.tests(chunk_); tests > 0) allocate_history(tests * (repeats_ ? repeated_chunks : 1));
  make_stamps();
}

/// Of a chunk. What is behind the end of a loop does nothing, but takes a microsecond a command.
int CudaProgram::wanted_iterations() const {
  if (state_.options.chunk > 0) return state_.options.chunk;
  const int commands = std::max(1, int(rec_.commands.size()));
  return plan_.resident ? most_iterations : std::clamp(enough_commands / commands, 1, most_iterations);
}

CudaProgram::~CudaProgram() {
  if (state_.lost) return;
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(mine_.device);
  state_.drain(mine_);  // a chunk of void commands may still be on its way
  if (graph_) cudaGraphExecDestroy(graph_);
  free_stamps();
  cudaFree(increments_);
  cudaFree(steps_);
  cudaSetDevice(before);
}

Awaited CudaProgram::awaited(const FaultRecord& f) const {
  const Command& c = rec_.commands[f.command];
  int part = f.from, nth = f.channel;
  std::vector<int> counted;  // a vector without peers is not waited for, and none is waited for twice
  for (auto& p : c.phases) {
    if (f.what == Wait::reduction && p.op == Op::finish) {
      auto& r = rank_.reductions()[p.slot];
      int parts = mine_.reductions[p.slot].parts;
      if (part < parts * r.values())
        return {state_.missing_part(rank_, p.slot, part / r.values(), f.expected) + " of the reduction into '" +
                    rank_.scalar_names()[r.to[0]] + "'",
                f.expected, f.seen};
      part -= parts * r.values();
    }
    if (f.what == Wait::halo && p.op == Op::await) {
      auto& v = rank_.vectors()[p.slot];
      if (v.exchange->peers.empty() || contains(counted, p.slot)) continue;
      counted.push_back(p.slot);
      if (nth-- == 0)
        return {"rank " + std::to_string(v.exchange->peers[f.from].rank) + "'s rows of '" + v.name + "'", f.expected, f.seen};
    }
  }
  return {"a block of its own command"};
}

// A device that fails does not say in which command.
std::string CudaProgram::under_way() const {
  const std::string &first = rec_.commands.front().name, &last = rec_.commands.back().name;
  return "commands " + first + " to " + last + ", iterations " + std::to_string(looked_for_) + " to " +
         std::to_string(looked_until_ - 1) + ": one of them";
}

// Ranks that wait for the stuck one, and ranks that wait for those, give up at about the same time. What was awaited first in
// the program is nearest to the cause: so all have a moment to say what they waited for.
void CudaProgram::complain(int command, int iteration, const Awaited& awaited) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", state_.options.timeout);
  std::string text = "rank " + std::to_string(rank_.id()) + ": command " + rec_.commands[command].name + ", iteration " +
                     std::to_string(iteration) + ": waited " + seconds + " s without any progress for " + awaited.what;
  Hall& hall = *state_.hall;
  hall.complain(rank_.id(), iteration, command, text,
                {rank_.id(), rec_.commands[command].name, iteration, awaited.expected, awaited.seen});
  double begin = seconds_now();
  while (!hall.raised() && seconds_now() - begin < 0.1 && hall.complaints() < rank_.size())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  state_.raise(hall.first_complaint());
}

void CudaProgram::fail(const FaultRecord& f) {
  complain(f.command, f.iteration, awaited(f));
  state_.fail_as_peers();
}

void CudaProgram::book(const Outcome& outcome, const Window::Report& report) {
  const Control& c = report.control;
  tally_.book(rank_, outcome.iterations, outcome.exited() ? c.exit_command : -1);
  std::copy_n(report.scalars, scalars_, rank_.scalar_values.begin());
  rank_.stop_seen |= c.stop_seen_at != 0;
  rank_.ledger.exposed_reduction += double(c.waited_reduction) * 1e-9;
  rank_.ledger.exposed_halo += double(c.waited_halo) * 1e-9;
  if (stamps_) book_stamps(outcome.iterations);
  copies_.give_back();
}

}  // namespace sordino::cuda
