// A run ends alike in all processes: well, or with one cause.
#include <algorithm>
#include <sstream>
#include <thread>

#include "sordino/runtime/cause_record.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/host/wait.inl"

namespace sordino::host {
namespace {

enum Word : i32 { heard = 0, original = 1, agreed = 2 };  // what a message says of the cause it brings

}  // namespace

void HostEngine::tell_all(const Message& m, const std::string& text) {
  for (int p = 0; p < transport_->processes(); p++)
    if (p != transport_->process()) transport_->send(p, m, text.data(), text.size());
}

// A rank may fail when those of other processes have all that they need of it: who has ended waits for the others. They may be
// busy with code of the user's for long, so that it is enough that they live.
void HostEngine::end_together(const std::function<void()>& tick) {
  constexpr double ticks = 0.05;
  tell_all({.kind = Message::ended, .slot = ++runs_, .from = first_});
  double begin = seconds_now(), ticked = begin;
  auto& ranks = transport_->ranks_of_processes();
  for (int turn = 0;; turn++) {
    poll();
    if (fault_.raised()) return;
    double now = seconds_now();
    int missing = -1;
    Neighbour last;
    {
      std::lock_guard lock(mutex_);
      for (int p = 0, first = 0; p < transport_->processes() && missing < 0; first += ranks[p++])
        if (first != first_ && others_[first].ended < runs_) missing = first, last = others_[first];
    }
    if (missing < 0) return;
    if (options_.timeout > 0 && now - std::max(begin, last.seen) > options_.timeout) {
      std::ostringstream cause;
      cause << "rank " << first_ << ": waited " << options_.timeout << " s without a sign of life for rank " << missing
            << "'s end of the run, epoch " << runs_ << " (seen " << last.ended << ")";
      return raise({Errc::peer_failed, cause.str(), {.rank = first_, .expected = runs_, .seen = last.ended}});
    }
    if (now - ticked > ticks) {
      ticked = now;
      tick();
    }
    if (turn > spins_ / 50) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

// Once, and what was said is never changed. Not while messages are delivered: who polls holds the transport.
void HostEngine::tell_of_fault() {
  if (told_fault_.exchange(true)) return;
  auto said = fault_.statement();
  tell_all({.kind = Message::fault, .slot = i64(said.error.code()), .from = first_, .place = said.original ? original : heard},
           letter_of(said.error.what(), said.error.cause()));
}

void HostEngine::hear_of_fault(const Message& m, const Error& error) {
  fault_.raise(error, false);
  {
    std::lock_guard lock(mutex_);
    Fault::Statement said{error, m.place == original};
    if (m.place != agreed)
      heard_[m.from] = std::move(said);
    else if (!agreed_)
      agreed_ = std::move(said);
  }
  for (auto& mine : memory_) mine.bell.ring();
}

// Every process says what it has raised, or heard of. The first of those that have spoken chooses when all have, or when a
// moment has passed (one may be gone, or elsewhere), and tells the others: whoever comes later says the same. If it, too, is
// gone, the others choose after another moment. Returns whether the cause is known; called again and again on the caller's
// thread.
bool HostEngine::settle_cause() {
  constexpr double moment = 0.5;
  tell_of_fault();
  // One look may bring what another process has raised, and leave behind what it has chosen since.
  for (int quiet = 0; quiet < 10; quiet = poll() ? 0 : quiet + 1) std::this_thread::sleep_for(std::chrono::microseconds(20));
  double now = seconds_now();
  if (settles_since_ == 0) settles_since_ = now;
  Fault::Statement chosen;
  {
    std::lock_guard lock(mutex_);
    if (agreed_) return true;
    bool first = heard_.empty() || heard_.begin()->first > first_;
    bool complete = int(heard_.size()) == transport_->processes() - 1;
    if (!(first && complete) && now - settles_since_ < (first ? moment : 2 * moment)) return false;
    // What was raised before what was heard, what is no consequence of waiting before the others, then the lowest rank's.
    auto all = heard_;
    all[first_] = fault_.statement();
    auto weight = [](const Fault::Statement& s) { return 2 * int(s.original) + int(s.error.code() != Errc::peer_failed); };
    auto best = all.begin();
    for (auto said = all.begin(); said != all.end(); ++said)
      if (weight(said->second) > weight(best->second)) best = said;
    agreed_ = chosen = best->second;
  }
  tell_all({.kind = Message::fault, .slot = i64(chosen.error.code()), .from = first_, .place = agreed},
           letter_of(chosen.error.what(), chosen.error.cause()));
  return true;
}

}  // namespace sordino::host
