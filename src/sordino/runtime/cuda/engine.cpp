#include "sordino/runtime/cuda/engine.hpp"

#include <cstring>

#include "sordino/runtime/cuda/program.hpp"
#include "sordino/runtime/cuda/state.hpp"

namespace sordino::cuda {

CudaEngine::CudaEngine(const Options& options) : CudaEngine(options, nullptr) {}

CudaEngine::CudaEngine(const Options& options, std::unique_ptr<Hall> hall)
    : state_(std::make_shared<State>(*this, options, std::move(hall))) {}

CudaEngine::~CudaEngine() { state_->end_team(); }

int CudaEngine::size() const { return state_->hall->ranks(); }
int CudaEngine::first_rank() const { return state_->hall->first_rank(); }
int CudaEngine::local_ranks() const { return state_->options.ranks; }
Rank& CudaEngine::rank(int local) { return *state_->public_ranks[local]; }
bool CudaEngine::has_lost_a_rank() const { return state_->team->stuck(); }
bool CudaEngine::shares_devices() const { return state_->shared; }
Counters CudaEngine::counters(int rank) const { return state_->local(rank).counters; }
double CudaEngine::now(Rank&) { return seconds_now(); }

void CudaEngine::run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise) {
  State& s = *state_;
  s.attend();
  if (s.hall->raised()) s.tell_cause();
  auto guarded = [&](int i) {
    std::string me = "rank " + std::to_string(first_rank() + i) + ": ";
    try {
      call("cudaSetDevice", cudaSetDevice(s.ranks[i]->device));
      job(*s.public_ranks[i]);
      s.send_rest();
    } catch (const PeerFailed&) {
    } catch (const Error& e) {
      s.raise(e.code(), me + e.what());
    } catch (const std::exception& e) {
      s.raise(Errc::peer_failed, me + e.what());
    } catch (...) {
      s.raise(Errc::peer_failed, me + "an exception that is no std::exception");
    }
    s.hall->set_waiting(first_rank() + i, true);
  };
  struct Busy {
    Hall& hall;
    explicit Busy(Hall& h) : hall(h) { hall.set_busy(true); }
    ~Busy() { hall.set_busy(false); }
  } busy(*s.hall);
  for (int i = 0; i < local_ranks(); i++) s.hall->set_waiting(first_rank() + i, false);
  s.team->run(guarded, [&] {
    if (supervise) supervise();
    s.attend();
    return s.hall->raised() ? 2.0 : -1.0;  // after a fault every wait ends; a rank stuck elsewhere is left behind
  });
  if (s.hall->raised()) s.tell_cause();
}

void CudaEngine::look(Rank&) {
  state_->attend();
  if (state_->hall->raised()) state_->fail_as_peers();
}

void CudaEngine::barrier(Rank& rank) {
  State& s = *state_;
  s.beat(s.of(rank));
  Gate& gate = s.hall->gate_of_ranks();
  u32 round = gate.enter(u32(size()));
  s.wait(rank, [&] { return gate.is_over(round); }, [] { return std::string("all ranks to reach a recording"); });
  s.beat(s.of(rank));
}

std::unique_ptr<Program> CudaEngine::compile(Rank& rank, const Recording& recording, const std::vector<int>& vectors,
                                             const std::vector<int>& scalars) {
  auto program = std::make_unique<CudaProgram>(state_, rank, recording, vectors, scalars);
  barrier(rank);  // all kernels are loaded, all addresses known: nobody waits on his device for a rank that is still busy here
  return program;
}

Outcome CudaEngine::replay(Rank&, Program& program, int max) { return static_cast<CudaProgram&>(program).replay(max); }

void CudaEngine::post(Rank& from, int to, int tag, std::vector<std::byte> data) {
  state_->post(from.id(), to, tag, std::move(data));
}

std::vector<std::byte> CudaEngine::take(Rank& at, int from, int tag) {
  State& s = *state_;
  auto& box = s.of(at).mail;
  auto there = [&] {
    s.take_mail();
    std::lock_guard lock(s.mutex);
    auto m = box.find({from, tag});
    return m != box.end() && !m->second.empty();
  };
  s.wait(at, there, [&] { return "data of rank " + std::to_string(from); });
  std::lock_guard lock(s.mutex);
  auto m = box.find({from, tag});
  auto data = std::move(m->second.front());
  m->second.pop_front();
  if (m->second.empty()) box.erase(m);  // most tags are used once
  s.beat(s.of(at));
  return data;
}

}  // namespace sordino::cuda
