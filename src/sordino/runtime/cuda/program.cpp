#include "sordino/runtime/cuda/program.hpp"

#include <cstddef>
#include <cstdio>

namespace sordino::cuda {
namespace {

constexpr int most_captured = 4096;  // commands; a longer cycle is launched one by one, on all ranks alike
constexpr int short_run = 3;         // iterations that are not worth a graph
constexpr int most_queued = 400;  // entries of a stream that a chunk with NCCL's messages may take: hosts must never wait here
constexpr int launches_of_command = 3;        // at most
constexpr int of_messages = 8;                // entries that a group of messages takes, about
constexpr double longer_with_messages = 0.3;  // seconds: hosts, which know what NCCL's messages wait for, complain first
constexpr int repeated_chunks = 64;           // that a WHILE graph runs before the host takes their history

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

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
      streams_(mine_, rank, recording, state_.shared || state_.options.time_commands || plan_.on_host) {
  int major = 0;
  call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, mine_.device));
  chains_ = state_.options.chain && !state_.shared && major >= 9;
  if (rec_.is_loop) chunk_ = tally_.cycle() * std::max(1, state_.options.chunk / tally_.cycle());
  if (rec_.is_loop && state_.nccl) {
    int entries = 0;  // the same on all ranks, whatever each of them sends: so it is counted in the recording
    for (auto& c : rec_.commands) {
      bool puts = std::any_of(c.phases.begin(), c.phases.end(), [](auto& p) { return p.op == Op::put; });
      entries += launches_of_command + of_messages * (int(puts) + int(c.starts >= 0));
    }
    chunk_ = tally_.cycle() * std::clamp(most_queued / (tally_.cycle() * std::max(1, entries)), 1, chunk_ / tally_.cycle());
  }
  // Ranks that wait for each other in WHILE graphs on one device hang.
  repeats_ = rec_.is_loop && state_.options.looping == Looping::while_graph && !state_.nccl &&
             state_.ranks.size() == state_.devices.size();
  if (i64 tests = tally_.tests(chunk_); tests > 0) allocate_history(tests * (repeats_ ? repeated_chunks : 1));
}

CudaProgram::~CudaProgram() {
  if (state_.lost) return;
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(mine_.device);
  state_.drain(mine_);  // a chunk of void commands may still be on its way
  if (graph_) cudaGraphExecDestroy(graph_);
  for (auto& t : timed_)
    for (cudaEvent_t e : {t.begin, t.end}) cudaEventDestroy(e);
  cudaFree(increments_);
  cudaFree(history_);
  cudaFreeHost(history_copy_);
  cudaSetDevice(before);
}

Outcome CudaProgram::replay(int max) {
  if (plan_.on_host) return replay_segments(max);
  i64 calls = calls_made;
  bool as_graph = begin_replay(max);
  if (as_graph && repeats_) return replay_on_device(max);
  // The next chunk is in the stream before the host looks at what the last one did, so the device never idles.
  std::deque<Chunk> ahead;
  int issued = 0;
  Outcome outcome;
  for (;;) {
    while (issued < max && ahead.size() < 2) {
      ahead.push_back(issue_chunk(issued, max, as_graph));
      issued = ahead.back().last;
    }
    Chunk chunk = ahead.front();
    ahead.pop_front();
    looked_for_ = chunk.first, looked_until_ = chunk.last;
    const Window::Report& report = await_report(chunk.mark);
    if (!has_exited(report.control, outcome)) {
      outcome = {chunk.last, proceed};
      take_history(tally_.tests(chunk.last));
      if (chunk.last < max) continue;
    }
    mine_.counters.calls_in_replays += calls_made - calls;
    book(outcome, report);
    return outcome;
  }
}

/// The device goes from chunk to chunk by itself; the host waits for its end, or until the ring of histories is half full.
Outcome CudaProgram::replay_on_device(int max) {
  Outcome outcome;
  for (int first = 0;;) {
    int last = int(std::min<i64>(i64(first) + i64(chunk_) * repeated_chunks, max));
    inject_before(first, last);
    mine_.staging->control.max_iterations = last;
    call("cudaMemcpyAsync", cudaMemcpyAsync(&mine_.control->control.max_iterations, &mine_.staging->control.max_iterations,
                                            sizeof(i32), cudaMemcpyHostToDevice, mine_.stream));
    mine_.window->ended = mine_.marks;
    looked_for_ = first, looked_until_ = last;
    call("cudaGraphLaunch", cudaGraphLaunch(graph_, mine_.stream));
    mine_.counters.chunks++;
    mine_.marks = await_end(mine_.marks);
    const Window::Report& report = checked_report(mine_.marks);
    if (!has_exited(report.control, outcome)) {
      outcome = {last, proceed};
      take_history(tally_.tests(last));
      first = last;
      if (last < max) continue;
    }
    book(outcome, report);
    return outcome;
  }
}

const Window::Report& CudaProgram::await_report(u32 mark) {
  await_mark(mark);
  while (!exchanged_.empty() && i32(exchanged_.front().mark - mark) <= 0) exchanged_.pop_front();
  return checked_report(mark);
}

const Window::Report& CudaProgram::checked_report(u32 mark) {
  const Window::Report& report = mine_.window->report[mark & 1];
  if (report.control.fault) fail(report.control.cause);
  if (state_.hall->raised()) state_.fail_as_peers();
  return report;
}

bool CudaProgram::has_exited(const Control& c, Outcome& outcome) {
  if (c.exit_verdict != proceed) {
    outcome = {c.exit_iteration + 1, Verdict(c.exit_verdict)};
    take_history(tally_.tests_until(outcome.iterations, c.exit_command));
    return true;
  }
  if (c.halt) throw Error(Errc::device, "the commands of the device stopped without saying why");
  return false;
}

bool CudaProgram::begin_replay(int max) {
  if (state_.hall->raised()) state_.fail_as_peers();
  state_.beat(mine_);
  tally_.check_scalars(rank_, max);
  timing_ = timed() && !plan_.on_host;
  timed_count_ = 0;
  bool as_graph = rec_.is_loop && !plan_.on_host && !state_.shared && !state_.nccl && !timing_ && max > short_run &&
                  state_.options.looping != Looping::launches && i64(chunk_) * i64(rec_.commands.size()) <= most_captured;
  if (as_graph && !graph_) build_graph();
  offsets_.assign(plan_.epoch_count(), 0);
  exchanged_.clear();
  tests_issued_ = 0;
  tests_taken_ = 0;
  looked_for_ = 0, looked_until_ = max;
  mine_.counters.replays++;
  send_settings(max);
  return as_graph;
}

void CudaProgram::send_settings(int max) {
  Upload& u = *mine_.staging;
  u.control = Control{};
  u.control.max_iterations = max;
  u.control.stop = state_.engine.stop_requested();
  u.control.stop_seen_at = rank_.stop_seen ? from_the_start : 0;
  u.control.marks = mine_.marks;
  double patience = state_.options.timeout + (state_.nccl ? longer_with_messages : 0);
  u.control.patience = state_.options.timeout > 0 ? u32(std::max(1.0, patience * 1e9 / 1024)) : 0;
  plan_.fill_epochs(u.epochs);
  std::copy(rank_.scalar_values.begin(), rank_.scalar_values.end(), u.scalars);
  std::size_t bytes = offsetof(Upload, scalars) + rank_.scalar_values.size() * sizeof(double);
  call("cudaMemcpyAsync", cudaMemcpyAsync(mine_.control, &u, bytes, cudaMemcpyHostToDevice, mine_.stream));
}

void CudaProgram::inject_before(int first, int last) const {
  const Injection& inject = state_.options.inject;
  if (inject.before && inject.rank == rank_.id()) inject.before(rank_, first, last);
}

CudaProgram::Chunk CudaProgram::issue_chunk(int first, int max, bool as_graph) {
  int last = int(std::min<i64>(i64(first) + chunk_, max));
  inject_before(first, last);
  if (as_graph) {
    call("cudaGraphLaunch", cudaGraphLaunch(graph_, mine_.stream));  // what lies beyond max does nothing
  } else {
    u32 first_test = tests_issued_;
    i64 before = calls_made;
    issue_iterations(first, last);
    issue_mark(first_test, 0);
    mine_.counters.single_calls += calls_made - before;
  }
  mine_.counters.chunks++;
  return {first, last, ++mine_.marks};
}

void CudaProgram::await_mark(u32 mark) {
  std::atomic_ref<u32> marks(mine_.window->marks);
  await_device([&] { return i32(marks.load(std::memory_order_acquire) - mark) >= 0; });
}

/// The number of the chunk that ended a loop on the device, which has counted `before` so far.
u32 CudaProgram::await_end(u32 before) {
  std::atomic_ref<u32> ended(mine_.window->ended);
  await_device([&] { return i32(ended.load(std::memory_order_acquire) - before) > 0; });
  return ended.load(std::memory_order_acquire);
}

// Looks at memory only, so that a replay's calls can be counted; once a millisecond it asks whether the device, and the other
// processes, still live.
template <class Arrived>
void CudaProgram::await_device(const Arrived& arrived) {
  std::atomic_ref<u32> stop(mine_.window->stop);
  double begin = seconds_now(), asked = begin, calm_since = begin;
  u64 beats = state_.hall->heartbeats();
  auto tell_stop = [&] { stop.store(state_.engine.stop_requested(), std::memory_order_relaxed); };
  state_.hall->set_waiting(mine_.index, true);
  tell_stop();
  for (u32 n = 1; !arrived(); n++) {
    pause();
    if (n % 64) continue;
    tell_stop();
    state_.attend(rank_);
    std::this_thread::yield();
    double now = seconds_now();
    if (now - asked < 1e-3) continue;
    asked = now;
    state_.attend();
    cudaError_t e = cudaStreamQuery(mine_.stream);
    if (e != cudaErrorNotReady && !arrived()) {
      if (e != cudaSuccess) throw_cuda_error(e, under_way().c_str(), std::source_location::current());
      if (!arrived()) throw Error(Errc::device, "the device ended a chunk of commands without a word");
    }
    // Waits on the device give up by themselves. This is for a kernel that never ends.
    if (u64 b = state_.hall->heartbeats(); b != beats) {
      beats = b;
      calm_since = now;
    } else if (state_.options.timeout > 0 && now - calm_since > 2 * state_.options.timeout + 5) {
      state_.lost = true;
      throw Error(Errc::device, "device " + std::to_string(mine_.device) + " does not come back from a command");
    }
    if (state_.nccl) watch_exchange(now - calm_since);
  }
  state_.hall->set_waiting(mine_.index, false);
  state_.beat(mine_);
}

void CudaProgram::take_history(i64 until) {
  i64 fresh = until - tests_taken_;
  for (; tests_taken_ < until; tests_taken_++) rank_.history.push_back(history_copy_[u64(tests_taken_) & history_mask_]);
  if (mine_.index != state_.hall->first_rank() || fresh == 0) return;
  state_.progress().value.store(rank_.history.back(), std::memory_order_relaxed);
  state_.progress().iteration.fetch_add(int(fresh), std::memory_order_relaxed);
}

std::string CudaProgram::awaited(const FaultRecord& f) const {
  const Command& c = rec_.commands[f.command];
  std::string epochs = ", epoch " + std::to_string(f.expected) + " (seen " + std::to_string(f.seen) + ")";
  int part = f.from, nth = f.channel;
  std::vector<int> counted;  // a vector without peers is not waited for, and none is waited for twice
  for (auto& p : c.phases) {
    if (f.what == Wait::reduction && p.op == Op::finish) {
      auto& r = rank_.reductions()[p.slot];
      int parts = mine_.reductions[p.slot].parts;
      if (part < parts * r.values())
        return "rank " + std::to_string(state_.sender_of(rank_, p.slot, part / r.values())) +
               "'s part of the reduction into '" + rank_.scalar_names()[r.to[0]] + "'" + epochs;
      part -= parts * r.values();
    }
    if (f.what == Wait::halo && p.op == Op::await) {
      auto& v = rank_.vectors()[p.slot];
      if (v.exchange->peers.empty() || contains(counted, p.slot)) continue;
      counted.push_back(p.slot);
      if (nth-- == 0) return "rank " + std::to_string(v.exchange->peers[f.from].rank) + "'s rows of '" + v.name + "'" + epochs;
    }
  }
  return "a block of its own command";
}

// A device that fails does not say in which command.
std::string CudaProgram::under_way() const {
  const std::string &first = rec_.commands.front().name, &last = rec_.commands.back().name;
  return "commands " + first + " to " + last + ", iterations " + std::to_string(looked_for_) + " to " +
         std::to_string(looked_until_ - 1) + ": one of them";
}

// Ranks that wait for the stuck one, and ranks that wait for those, give up at about the same time. What was awaited first in
// the program is nearest to the cause: so all have a moment to say what they waited for.
void CudaProgram::complain(int command, int iteration, const std::string& awaited) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", state_.options.timeout);
  std::string text = "rank " + std::to_string(rank_.id()) + ": command " + rec_.commands[command].name + ", iteration " +
                     std::to_string(iteration) + ": waited " + seconds + " s without any progress for " + awaited;
  Hall& hall = *state_.hall;
  hall.complain(rank_.id(), iteration, command, text);
  double begin = seconds_now();
  while (!hall.raised() && seconds_now() - begin < 0.1 && hall.complaints() < rank_.size())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  state_.raise(Errc::peer_failed, hall.first_complaint());
}

void CudaProgram::fail(const FaultRecord& f) {
  complain(f.command, f.iteration, awaited(f));
  state_.fail_as_peers();
}

void CudaProgram::book(const Outcome& outcome, const Window::Report& report) {
  const Control& c = report.control;
  int exit_command = outcome.exited() ? c.exit_command : -1;
  tally_.book(rank_, outcome.iterations, exit_command);
  std::copy_n(report.scalars, rank_.scalar_values.size(), rank_.scalar_values.begin());
  rank_.stop_seen |= c.stop_seen_at != 0;
  rank_.ledger.exposed_reduction += double(c.waited_reduction) * 1e-9;
  rank_.ledger.exposed_halo += double(c.waited_halo) * 1e-9;
  if (timing_) book_times(outcome, exit_command);
}

}  // namespace sordino::cuda
