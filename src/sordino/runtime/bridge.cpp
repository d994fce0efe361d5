#include "sordino/runtime/bridge.hpp"

#include <algorithm>
#include <cstring>

#include "sordino/base/clock.hpp"
#include "sordino/runtime/cause_record.hpp"

namespace sordino {
namespace {

constexpr double between_lives = 0.02;  // seconds

enum CauseState : i32 { proposed = 0, decided = 1 };

}  // namespace

Bridge::Bridge(Hall& hall, Transport& transport) : hall_(hall), transport_(transport), complained_(std::size_t(hall.ranks())) {
  for (auto& g : gates_) g.heard.resize(std::size_t(hall.hosts()));
  for (int r = 0; r < hall.ranks(); r++)
    if (hall.is_near(r)) near_.push_back(r);
}

void Bridge::tell_hosts(const Message& message, const void* data, std::size_t bytes) {
  for (int h = 0; h < hall_.hosts(); h++)
    if (h != hall_.host()) transport_.send(hall_.leader(h), message, data, bytes);
}

bool Bridge::step() {
  if (!leads()) return false;
  step_life();
  bool moved = step_complaints();  // before the cause that they lead to
  moved |= step_cause();
  for (int g : {0, 1}) moved |= step_gate(g);
  return moved;
}

// The bridge is the last to enter a gate: it does so when all others of this host, and of all other hosts, are inside.
bool Bridge::step_gate(int which) {
  GateState& g = gates_[which];
  Gate& gate = which == 0 ? hall_.gate_of_ranks() : hall_.gate_of_processes();
  u32 members = u32(which == 0 ? hall_.near_ranks() : hall_.near_processes());
  bool moved = false;
  if (!g.told && gate.inside() == members) {
    tell_hosts({.kind = Message::barrier, .slot = which, .from = hall_.first_rank()});
    g.told = moved = true;
  }
  if (!g.told) return moved;
  for (int h = 0; h < hall_.hosts(); h++)
    if (h != hall_.host() && i32(g.heard[std::size_t(h)] - g.round) <= 0) return moved;
  g.round++;
  g.told = false;
  gate.enter(members + 1);
  return true;
}

bool Bridge::step_complaints() {
  bool moved = false;
  for (int r : near_) {
    if (complained_[std::size_t(r)]) continue;
    auto c = hall_.complaint_of(r);
    if (!c) continue;
    complained_[std::size_t(r)] = moved = true;
    std::string letter = letter_of(c->text, c->cause);
    tell_hosts({.kind = Message::complaint, .slot = c->command, .from = r, .place = c->iteration}, letter.data(),
               letter.size());
  }
  return moved;
}

// A cause is proposed to the first host, whose own is decided at once. Who gives up waiting decides for himself and says so.
bool Bridge::step_cause() {
  if (told_cause_) return false;
  if (hall_.host() == 0 && hall_.has_proposal()) {
    hall_.decide(hall_.proposal());
  }
  if (hall_.raised()) {
    Error error = hall_.error();
    std::string letter = letter_of(error.what(), error.cause());
    tell_hosts({.kind = Message::fault, .slot = i64(error.code()), .from = hall_.first_rank(), .place = decided}, letter.data(),
               letter.size());
    return told_cause_ = true;
  }
  if (told_proposal_ || !hall_.has_proposal()) return false;
  Error error = hall_.proposal();
  std::string letter = letter_of(error.what(), error.cause());
  transport_.send(hall_.leader(0),
                  {.kind = Message::fault, .slot = i64(error.code()), .from = hall_.first_rank(), .place = proposed},
                  letter.data(), letter.size());
  return told_proposal_ = true;
}

void Bridge::step_life() {
  double now = seconds_now();
  if (now - told_life_ < between_lives) return;
  told_life_ = now;
  std::vector<Life> lives;
  for (int r : near_) {
    auto& beat = hall_.pulse().beats[r];
    u64 beats = 0;
    for (u64* count : {&beat.host, &beat.device}) beats += std::atomic_ref(*count).load(std::memory_order_relaxed);
    lives.push_back({beats, hall_.is_waiting(r)});
  }
  tell_hosts({.kind = Message::beat, .from = hall_.first_rank()}, lives.data(), lives.size() * sizeof(Life));
}

bool Bridge::hear(const Message& m, const std::byte* data, std::size_t bytes) {
  int host = hall_.host_of(hall_.process_of(m.from));
  switch (m.kind) {
    case Message::barrier: gates_[m.slot].heard[std::size_t(host)]++; return true;
    case Message::complaint: {
      Error said = error_in(Errc::peer_failed, data, bytes);
      hall_.complain(m.from, m.place, int(m.slot), said.what(), said.cause());
      return true;
    }
    case Message::fault:
      if (m.place == decided)
        hall_.decide(error_in(Errc(m.slot), data, bytes));
      else
        hall_.propose(error_in(Errc(m.slot), data, bytes));
      return true;
    case Message::beat: {
      std::vector<Life> lives(bytes / sizeof(Life));
      std::memcpy(lives.data(), data, lives.size() * sizeof(Life));
      auto life = lives.begin();
      for (int r = 0; r < hall_.ranks() && life != lives.end(); r++) {
        if (hall_.host_of(hall_.process_of(r)) != host) continue;
        std::atomic_ref(hall_.pulse().beats[r].host).store(life->beats, std::memory_order_relaxed);
        hall_.set_waiting(r, life->waiting != 0);
        ++life;
      }
      return true;
    }
    default: return false;
  }
}

}  // namespace sordino
