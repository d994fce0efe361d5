#include "sordino/runtime/cuda/engine.hpp"

#include "sordino/runtime/cuda/program.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

CudaEngine::CudaEngine(const Options& options) : CudaEngine(options, nullptr) {}

CudaEngine::CudaEngine(const Options& options, std::unique_ptr<Hall> hall, std::unique_ptr<Transport> transport)
    : state_(std::make_shared<State>(*this, options, std::move(hall), std::move(transport))) {}

CudaEngine::~CudaEngine() { state_->end_team(); }

int CudaEngine::size() const { return state_->hall->ranks(); }
int CudaEngine::first_rank() const { return state_->hall->first_rank(); }
int CudaEngine::local_ranks() const { return state_->options.ranks; }
Rank& CudaEngine::rank(int local) { return *state_->public_ranks[local]; }
bool CudaEngine::has_lost_a_rank() const { return state_->team->stuck(); }
int CudaEngine::gpu() const { return state_->local(first_rank()).device; }
bool CudaEngine::shares_devices() const { return state_->shared; }
Counters CudaEngine::counters(int rank) const { return state_->local(rank).counters; }
Carrier CudaEngine::carrier(int from, int to) const { return state_->carrier(from, to); }
double CudaEngine::now(Rank&) { return seconds_now(); }

// Sums that ranks push, and messages that hosts carry: orders of magnitude (docs/communication.md has measured ones).
Machine CudaEngine::described() const {
  Machine m;
  bool far = state_->hall->hosts() > 1;
  m.reduction_base_s = far ? 20e-6 + size() * 1e-6 : 1e-6 + size() * 0.05e-6;
  m.put_overhead_s = m.host_overhead_s = 2e-6;
  m.link_latency_s = m.internode_latency_s = 10e-6;
  return m;
}

RankRange CudaEngine::node_of(int rank) const {
  const Hall& hall = *state_->hall;
  int process = hall.process_of(rank);
  return {hall.first_rank(process), process + 1 < hall.processes() ? hall.first_rank(process + 1) : hall.ranks()};
}

Transport* CudaEngine::transport() {
  return state_->courier && state_->courier->reaches_processes() ? &state_->courier->transport() : nullptr;
}

void CudaEngine::sum_by(std::unique_ptr<Summing> way) {
  if (state_->options.sums != Sums::by_host)
    throw Error(Errc::unsupported, "this engine was not built for sums by the host: choose them when it is built");
  Engine::sum_by(std::move(way));
}

void CudaEngine::follow(Rank& rank, void* stream) {
  OnDevice on(state_->of(rank).device);
  cudaEvent_t event = nullptr;
  call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cudaError_t recorded = cudaEventRecord(event, static_cast<cudaStream_t>(stream));
  cudaError_t waited = cudaStreamWaitEvent(state_->of(rank).stream, event, 0);
  cudaEventDestroy(event);  // when it is over
  call("cudaEventRecord", recorded);
  call("cudaStreamWaitEvent", waited);
}

void CudaEngine::delay_sums(double seconds) {
  if (!state_->options.late_sums) throw Error(Errc::unsupported, "this engine was not built for sums that are made late");
  if (!(seconds >= 0 && seconds <= 1)) throw Error(Errc::bad_argument, "sums are made late by 0 to 1 second");
  const u64 nanoseconds = u64(seconds * 1e9);
  for (auto& r : state_->ranks) {
    OnDevice on(r->device);
    for (auto& d : r->reductions) state_->copy_in(*r, d.due + 2, &nanoseconds, sizeof nanoseconds);
    call("cudaStreamSynchronize", cudaStreamSynchronize(r->stream));
  }
}

void CudaEngine::run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise) {
  State& s = *state_;
  auto guarded = [&](int i) {
    std::string me = "rank " + std::to_string(first_rank() + i) + ": ";
    try {
      call("cudaSetDevice", cudaSetDevice(s.ranks[i]->device));
      s.public_ranks[i]->run_job(job);
      s.send_rest();
    } catch (const PeerFailed&) {
    } catch (...) {
      s.raise(caught(me, {.rank = first_rank() + i}));
    }
    s.public_ranks[i]->leave_job();
    s.hall->set_waiting(first_rank() + i, true);
  };
  struct Busy {
    State& state;
    explicit Busy(State& s) : state(s) {
      state.hall->set_busy(true);
      if (state.courier) state.courier->work();
    }
    ~Busy() {
      state.hall->set_busy(false);
      if (!state.courier) return;
      state.stay_for_neighbours();
      state.courier->rest();
    }
  } busy(s);
  s.attend();
  if (s.hall->raised()) s.tell_cause();
  for (int i = 0; i < local_ranks(); i++) s.hall->set_waiting(first_rank() + i, false);
  std::exception_ptr supervisor_failed;
  s.team->run(guarded, [&] {
    try {
      if (supervise && !supervisor_failed) supervise();
    } catch (const std::exception& e) {
      supervisor_failed = std::current_exception();
      s.raise({Errc::peer_failed, std::string("the supervisor of the run failed: ") + e.what()});
    }
    s.attend();
    if (s.hall->raised()) s.abort_nccl();
    return s.hall->raised() ? 2.0 : -1.0;  // after a fault every wait ends; a rank stuck elsewhere is left behind
  });
  if (s.hall->raised()) s.abort_nccl();
  if (supervisor_failed) std::rethrow_exception(supervisor_failed);
  if (s.hall->raised()) s.tell_cause();
}

void CudaEngine::look(Rank& rank) {
  state_->attend();
  if (state_->hall->raised()) state_->fail_as_peers();
  rank.go_on();
}

void CudaEngine::barrier(Rank& rank) {
  State& s = *state_;
  s.beat(s.of(rank));
  Gate& gate = s.hall->gate_of_ranks();
  u32 round = s.hall->enter_ranks();
  s.wait(rank, [&] { return gate.is_over(round); }, [] { return std::string("all ranks to reach a recording"); });
  s.beat(s.of(rank));
}

std::unique_ptr<Program> CudaEngine::compile(Rank& rank, const Recording& recording, const std::vector<int>& vectors,
                                             const std::vector<int>& scalars) {
  auto program = std::make_unique<CudaProgram>(state_, rank, recording, vectors, scalars);
  // All kernels are loaded, all addresses known: nobody waits on his device for a rank that is still busy here. Nobody waits
  // for one that only receives, such as the end of a loop, to which ranks may come at any time.
  if (sends(recording)) barrier(rank);
  return program;
}

// --- host data ------------------------------------------------------------------------------------------------------------

void CudaEngine::post(Rank& from, int to, i64 tag, std::vector<std::byte> data) {
  state_->post(from.id(), to, tag, std::move(data));
}

std::optional<Letter> CudaEngine::try_take(Rank& at, int from, i64 tag) {
  State& s = *state_;
  s.take_mail();
  std::unique_lock lock(s.mutex);
  auto letter = s.of(at).mail.take(tag, from);
  lock.unlock();
  if (letter) s.beat(s.of(at));
  return letter;
}

// What was found must not be lost if the wait asks once more; looking takes the lock that senders need, so it waits for
// letters.
void CudaEngine::wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) {
  const auto& letters = state_->of(at).letters;
  u64 looked_at = ~u64(0);
  bool is_ready = false;
  auto look = [&] {
    state_->take_mail();
    u64 came = letters.load(std::memory_order_acquire);
    if (!is_ready && came != looked_at) is_ready = ready();
    looked_at = came;
    return is_ready;
  };
  state_->wait(at, look, what);
}

std::vector<std::byte> CudaEngine::take(Rank& at, int from, i64 tag) {
  std::optional<Letter> letter;
  wait_for_mail(
      at, [&] { return (letter = try_take(at, from, tag)).has_value(); },
      [&] { return "data of rank " + std::to_string(from); });
  return std::move(letter->data);
}

}  // namespace sordino::cuda
