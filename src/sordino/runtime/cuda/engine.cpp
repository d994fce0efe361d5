#include "sordino/runtime/cuda/engine.hpp"

#include <cstring>

#include "sordino/runtime/cuda/program.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

CudaEngine::CudaEngine(const Options& options) : state_(std::make_shared<State>(*this, options)) {}

CudaEngine::~CudaEngine() { state_->end_team(); }

int CudaEngine::size() const { return state_->options.ranks; }
Rank& CudaEngine::rank(int local) { return *state_->public_ranks[local]; }
bool CudaEngine::has_lost_a_rank() const { return state_->team->stuck(); }
bool CudaEngine::shares_devices() const { return state_->shared; }
Counters CudaEngine::counters(int rank) const { return state_->ranks[rank]->counters; }
double CudaEngine::now(Rank&) { return seconds_now(); }

void CudaEngine::run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise) {
  State& s = *state_;
  if (s.fault.raised())
    throw Error(Errc::peer_failed, "these ranks have failed before (" + s.fault.cause() + "): build a new solver");
  auto guarded = [&](int i) {
    std::string me = "rank " + std::to_string(i) + ": ";
    try {
      call("cudaSetDevice", cudaSetDevice(s.ranks[i]->device));
      job(*s.public_ranks[i]);
    } catch (const PeerFailed&) {
    } catch (const Error& e) {
      s.raise(e.code(), me + e.what());
    } catch (const std::exception& e) {
      s.raise(Errc::peer_failed, me + e.what());
    } catch (...) {
      s.raise(Errc::peer_failed, me + "an exception that is no std::exception");
    }
    s.ranks[i]->waiting = true;
  };
  for (auto& r : s.ranks) r->waiting = false;
  std::exception_ptr supervisor_failed;
  s.team->run(guarded, [&] {
    try {
      if (supervise && !supervisor_failed) supervise();
    } catch (const std::exception& e) {
      supervisor_failed = std::current_exception();
      s.raise(Errc::peer_failed, std::string("the supervisor of the run failed: ") + e.what());
    }
    return s.fault.raised() ? 2.0 : -1.0;  // after a fault every wait ends; a rank stuck elsewhere is left behind
  });
  if (supervisor_failed) std::rethrow_exception(supervisor_failed);
  if (s.fault.raised()) throw Error(s.fault.code(), s.fault.cause());
}

void CudaEngine::look(Rank&) {
  if (state_->fault.raised()) state_->fail_as_peers();
}

void CudaEngine::barrier(Rank& rank) {
  State& s = *state_;
  s.beat(s.of(rank));
  u64 round;
  {
    std::lock_guard lock(s.barrier.mutex);
    round = s.barrier.round.load();
    if (++s.barrier.inside == size()) {
      s.barrier.inside = 0;
      s.barrier.round.store(round + 1);
    }
  }
  s.wait(rank, [&] { return s.barrier.round.load() != round; }, [] { return std::string("all ranks to reach a recording"); });
  s.beat(s.of(rank));
}

std::unique_ptr<Program> CudaEngine::compile(Rank& rank, const Recording& recording, const std::vector<int>& vectors,
                                             const std::vector<int>& scalars) {
  auto program = std::make_unique<CudaProgram>(state_, rank, recording, vectors, scalars);
  barrier(rank);  // all kernels are loaded, all addresses known: nobody waits on his device for a rank that is still busy here
  return program;
}

Outcome CudaEngine::replay(Rank&, Program& program, int max) { return static_cast<CudaProgram&>(program).replay(max); }

// --- host data ------------------------------------------------------------------------------------------------------------

void CudaEngine::post(Rank& from, int to, i64 tag, std::vector<std::byte> data) {
  RankState& there = *state_->ranks[to];
  {
    std::lock_guard lock(state_->mutex);
    there.mail.add(tag, {from.id(), std::move(data)});
  }
  there.letters.fetch_add(1, std::memory_order_release);
}

std::optional<Letter> CudaEngine::try_take(Rank& at, int from, i64 tag) {
  State& s = *state_;
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
