// A replay, as the host follows it: it launches ahead, looks at what the device has reported, and launches more.
#include <cstddef>

#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {
namespace {

constexpr int most_captured = 4096;           // commands; a longer cycle is launched one by one, on all ranks alike
constexpr int short_run = 3;                  // iterations that are not worth a graph
constexpr double longer_with_messages = 0.3;  // seconds: hosts, which know what NCCL's messages wait for, complain first

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

// --- forth ------------------------------------------------------------------------------------------------------------------

void CudaProgram::start(int max) {
  i64 calls = calls_made;
  max_ = max;
  begin_replay();
  issue_ahead();
  mine_.counters.calls_in_replays += calls_made - calls;
}

Advance CudaProgram::advance() {
  if (over_) return Advance::ended;
  if (!has_arrived()) {
    look();
    return Advance::blocked;
  }
  take();
  return over_ ? Advance::ended : Advance::moved;
}

Outcome CudaProgram::wait() {
  while (!over_) {
    if (!has_arrived()) await();
    take();
  }
  return outcome_;
}

/// The next chunk is in the stream before the host looks at what the last one did, so the device never idles.
void CudaProgram::issue_ahead() {
  if (plan_.on_host)
    ahead_.push_back(issue_segment());
  else if (on_device())
    ahead_.push_back(launch_repeated());
  else
    while (issued_ < max_ && ahead_.size() < 2) ahead_.push_back(issue_chunk());
  if (!plan_.on_host) looked_for_ = ahead_.front().first, looked_until_ = ahead_.front().last;
  asked_ = seconds_now();
  patience_.begin(state_.hall->heartbeats(), asked_);
}

/// Takes in what the chunk that has arrived did. A host that is slower than its device never waits: it looks around here.
void CudaProgram::take() {
  i64 calls = calls_made;
  double seen = seconds_now();
  state_.beat(mine_);
  tell_stop();
  state_.attend(rank_);
  Chunk chunk = ahead_.front();
  ahead_.pop_front();
  if (on_device()) chunk.mark = mine_.marks = ended_on_device();
  while (!exchanged_.empty() && i32(exchanged_.front().mark - chunk.mark) <= 0) exchanged_.pop_front();
  const Window::Report& report = checked_report(chunk.mark);
  clock_.compare(report.now, seen);
  over_ = has_exited(report.control, outcome_);
  if (!over_) {
    outcome_ = {chunk.last, proceed};
    take_history(plan_.on_host ? tests_issued_ : tally_.tests(chunk.last));
    over_ = plan_.on_host ? !run_next_host_task() : chunk.last == max_;
    if (!over_) issue_ahead();
  }
  mine_.counters.calls_in_replays += calls_made - calls;
  if (over_) book(outcome_, report);
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

/// Of what is rehearsed a graph is captured at once, though a solve of a few iterations will not use it: a later one would
/// capture in its middle, while all ranks wait for each other.
void CudaProgram::prepare() {
  as_graph_ = may_be_graph();
  if (as_graph_ && !graph_) build_graph();
}

bool CudaProgram::may_be_graph() const {
  return rec_.is_loop && !plan_.on_host && !state_.shared && !state_.nccl && state_.options.looping != Looping::launches &&
         i64(chunk_) * i64(rec_.commands.size()) <= most_captured;
}

void CudaProgram::begin_replay() {
  if (state_.hall->raised()) state_.fail_as_peers();
  state_.beat(mine_);
  tally_.check_scalars(rank_, max_);
  as_graph_ = may_be_graph() && max_ > short_run;
  if (as_graph_ && !graph_) build_graph();
  offsets_.assign(plan_.epoch_count(), 0);
  exchanged_.clear();
  ahead_.clear();
  issued_ = 0;
  next_launch_ = 0;
  over_ = false;
  tests_issued_ = 0;
  tests_taken_ = 0;
  looked_for_ = 0, looked_until_ = max_;
  mine_.counters.replays++;
  copies_.bring();
  clear_stamps();
  send_settings();
}

void CudaProgram::send_settings() {
  Upload& u = *mine_.staging;
  u.control = Control{};
  u.meeting = Meeting{};
  u.control.max_iterations = max_;
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

CudaProgram::Chunk CudaProgram::issue_chunk() {
  Chunk chunk{issued_, int(std::min<i64>(i64(issued_) + chunk_, max_)), 0};
  Range range("launch iterations", chunk.first, chunk.last);
  inject_before(chunk.first, chunk.last);
  if (as_graph_) {
    call("cudaGraphLaunch", cudaGraphLaunch(graph_, mine_.stream));  // what lies beyond max does nothing
    if (plan_.resident) mine_.counters.stayed++;
  } else {
    u32 first_test = tests_issued_;
    i64 before = calls_made;
    issue_iterations(chunk.first, chunk.last);
    issue_mark(first_test, 0);
    mine_.counters.single_calls += calls_made - before;
  }
  mine_.counters.chunks++;
  issued_ = chunk.last;
  chunk.mark = ++mine_.marks;
  return chunk;
}

/// The device goes from chunk to chunk by itself, until its end, or until the ring of histories is half full.
CudaProgram::Chunk CudaProgram::launch_repeated() {
  Chunk chunk{issued_, int(std::min<i64>(i64(issued_) + i64(chunk_) * repeated_chunks, max_)), mine_.marks};
  Range range("launch iterations", chunk.first, chunk.last);
  inject_before(chunk.first, chunk.last);
  mine_.staging->control.max_iterations = chunk.last;
  call("cudaMemcpyAsync", cudaMemcpyAsync(&mine_.control->control.max_iterations, &mine_.staging->control.max_iterations,
                                          sizeof(i32), cudaMemcpyHostToDevice, mine_.stream));
  mine_.window->ended = mine_.marks;
  call("cudaGraphLaunch", cudaGraphLaunch(graph_, mine_.stream));
  mine_.counters.chunks++;
  issued_ = chunk.last;
  return chunk;
}

// --- and back ---------------------------------------------------------------------------------------------------------------

/// The number of the chunk that ended a loop on the device; before that, the number it began after.
u32 CudaProgram::ended_on_device() const { return std::atomic_ref(mine_.window->ended).load(std::memory_order_acquire); }

bool CudaProgram::has_arrived() const {
  u32 mark = ahead_.front().mark;
  if (on_device()) return i32(ended_on_device() - mark) > 0;
  return i32(std::atomic_ref(mine_.window->marks).load(std::memory_order_acquire) - mark) >= 0;
}

/// Looks at memory only, so that a replay's calls can be counted; once a millisecond it asks whether the device, and the other
/// processes, still live.
void CudaProgram::await() {
  Range range("wait for the device");
  state_.hall->set_waiting(mine_.index, true);
  for (u32 n = 1; !has_arrived(); n++) {
    pause();
    if (n % 64) continue;
    look();
    std::this_thread::yield();
  }
  state_.hall->set_waiting(mine_.index, false);
}

void CudaProgram::tell_stop() {
  std::atomic_ref(mine_.window->stop).store(state_.engine.stop_requested(), std::memory_order_relaxed);
}

void CudaProgram::look() {
  tell_stop();
  state_.attend(rank_);
  double now = seconds_now();
  if (now - asked_ < 1e-3) return;
  asked_ = now;
  state_.attend();
  cudaError_t e = cudaStreamQuery(mine_.stream);
  if (e != cudaErrorNotReady && !has_arrived()) {
    if (e != cudaSuccess) throw_cuda_error(e, under_way().c_str(), std::source_location::current());
    if (!has_arrived()) throw Error(Errc::device, "the device ended a chunk of commands without a word");
  }
  // Waits on the device give up by themselves. This is for a kernel that never ends.
  double calm = patience_.calm(state_.hall->heartbeats(), now);
  if (state_.options.timeout > 0 && calm > 2 * state_.options.timeout + 5) {
    state_.lost = true;
    throw Error(Errc::device, "device " + std::to_string(mine_.device) + " does not come back from a command");
  }
  if (state_.nccl) watch_exchange(calm);
}

void CudaProgram::take_history(i64 until) {
  i64 fresh = until - tests_taken_;
  for (; tests_taken_ < until; tests_taken_++) rank_.history.push_back(history_copy_[u64(tests_taken_) & history_mask_]);
  if (mine_.index != state_.hall->first_rank() || fresh == 0) return;
  state_.progress().value.store(rank_.history.back(), std::memory_order_relaxed);
  state_.progress().iteration.fetch_add(int(fresh) * rec_.steps, std::memory_order_relaxed);
}

}  // namespace sordino::cuda
