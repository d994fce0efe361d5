// How ranks fail together: the first cause, as all hosts agree on it, and who complains of what.
#include <thread>
#include <tuple>

#include "sordino/runtime/hall_segment.hpp"

namespace sordino {
namespace {

constexpr u32 told = 1, proposed = 2, written = 3;  // states of a fault: none, these, or `written` by a process + it

}  // namespace

bool Hall::raised() const { return segment_->fault.load(std::memory_order_acquire) == told; }

// Whether nobody was first. Who died over writing is relieved.
bool Hall::keep_cause(const Error& error, u32 state) {
  auto& fault = segment_->fault;
  for (;;) {
    u32 seen = 0;
    if (state == told && has_proposal()) seen = proposed;
    if (fault.compare_exchange_strong(seen, written + u32(process_))) break;
    if (seen == told || (seen == proposed && state == proposed)) return false;
    if (seen >= written && has_died(int(seen - written)) && fault.compare_exchange_strong(seen, written + u32(process_))) break;
    std::this_thread::yield();
  }
  segment_->code = i32(error.code());
  keep(segment_->cause, error.what());
  segment_->known = packed(error.cause());
  fault.store(state, std::memory_order_release);
  return true;
}

void Hall::decide(const Error& error) {
  if (keep_cause(error, told))
    std::atomic_ref<u32>(segment_->pulse.abort).store(1, std::memory_order_release);  // kernels that wait leave
}

bool Hall::propose(const Error& error) {
  if (bridged()) return keep_cause(error, proposed);
  bool first = !raised();
  decide(error);
  return first;
}

bool Hall::raise(const Error& error) {
  constexpr i64 patience = 1000;  // milliseconds until hosts that say nothing are left alone with their own causes
  bool first = propose(error);
  i64 begin = milliseconds_now();
  while (!raised()) {
    if (milliseconds_now() - begin > patience) decide(error);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return first;
}

bool Hall::has_proposal() const { return segment_->fault.load(std::memory_order_acquire) == proposed; }
Error Hall::proposal() const { return error(); }

Error Hall::error() const { return {Errc(segment_->code), segment_->cause, unpacked(segment_->known)}; }
std::string Hall::cause() const { return raised() ? segment_->cause : ""; }
Errc Hall::code() const { return Errc(segment_->code); }

void Hall::complain(int rank, int iteration, int command, const std::string& text, const Cause& cause) {
  Seat& s = seat(rank);
  if (s.complained.load(std::memory_order_relaxed)) return;
  s.iteration = iteration;
  s.command = command;
  keep(s.complaint, text);
  s.known = packed(cause);
  s.complained.store(1, std::memory_order_release);
}

int Hall::complaints() const {
  int n = 0;
  for (int i = 0; i < ranks(); i++) n += seat(i).complained.load(std::memory_order_acquire) != 0;
  return n;
}

Error Hall::first_complaint() const {
  const Seat* first = nullptr;
  for (int i = 0; i < ranks(); i++) {
    const Seat& s = seat(i);
    if (!s.complained.load(std::memory_order_acquire)) continue;
    if (!first || std::tie(s.iteration, s.command) < std::tie(first->iteration, first->command)) first = &s;
  }
  return first ? Error(Errc::peer_failed, first->complaint, unpacked(first->known)) : Error(Errc::peer_failed, "");
}

std::optional<Hall::Complaint> Hall::complaint_of(int rank) const {
  const Seat& s = seat(rank);
  if (!s.complained.load(std::memory_order_acquire)) return {};
  return Complaint{rank, s.iteration, s.command, s.complaint, unpacked(s.known)};
}

}  // namespace sordino
