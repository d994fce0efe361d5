// Processes whose ranks give up at about the same time agree on one cause.
#include <thread>

#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/host/wait.inl"

namespace sordino::host {

// Not while messages are delivered: who polls holds the transport.
void HostEngine::tell_of_fault(bool original) {
  told_fault_ = true;
  std::string cause = fault_.cause();
  Message m{.kind = Message::fault, .slot = i64(fault_.code()), .from = first_, .place = original};
  for (int p = 0; p < transport_->processes(); p++)
    if (p != transport_->process()) transport_->send(p, m, cause.data(), cause.size());
}

void HostEngine::hear_of_fault(const Message& m, std::string cause) {
  fault_.raise(Errc(m.slot), cause);
  {
    std::lock_guard lock(mutex_);
    auto& said = heard_[m.from];
    if (said.cause.empty() || m.place) said = {Errc(m.slot), std::move(cause), m.place != 0};
  }
  for (auto& mine : memory_) mine.bell.ring();
}

// Every process says what it has raised, or heard of. Once all have, or a moment has passed (one may be gone, or elsewhere),
// each takes the same of those that were raised: what is no consequence of waiting before the others, then the lowest rank's.
void HostEngine::agree_on_cause() {
  constexpr double moment = 0.5;
  if (!told_fault_) tell_of_fault(false);
  auto all_heard = [&] {
    std::lock_guard lock(mutex_);
    return int(heard_.size()) == transport_->processes() - 1;
  };
  for (double begin = seconds_now(); !all_heard() && seconds_now() - begin < moment; poll())
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  std::lock_guard lock(mutex_);
  auto all = heard_;
  all[first_] = {fault_.code(), fault_.cause(), raised_here_};
  const Statement* chosen = nullptr;
  for (auto& [rank, said] : all) {
    bool better = !chosen || (chosen->code == Errc::peer_failed && said.code != Errc::peer_failed);
    if (said.original && better) chosen = &said;
  }
  if (chosen) fault_.agree_on(chosen->code, chosen->cause);
}

}  // namespace sordino::host
