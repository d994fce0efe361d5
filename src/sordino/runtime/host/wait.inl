// The host engine's one way to wait.
#pragma once
#include <chrono>

#include "sordino/base/clock.hpp"

namespace sordino::host {

template <class Ready, class What>
double HostEngine::wait(Rank& rank, const Ready& ready, const What& what) {
  if (ready()) return 0;
  double begin = seconds_now();
  Memory& mine = memory(rank.id());
  u64 attended = 0;  // letters
  auto letters_came = [&] { return mine.letters.load(std::memory_order_acquire) != attended; };
  auto attend_to_letters = [&] {
    attended = mine.letters.load(std::memory_order_acquire);
    attend(rank);
  };
  for (int k = 0; k < spins_; k++) {
    if (letters_came()) attend_to_letters();
    if (ready()) return seconds_now() - begin;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  mine.waiting.store(true, std::memory_order_relaxed);
  double calm_since = begin;
  u64 beats = all_heartbeats();
  // Remote ranks cannot ring: sleep only a little, and look for their messages. What rings for a replay is not looked for here.
  long nap = transport_ || rank.replays_aside() ? 20'000 : 2'000'000;
  for (;;) {
    if (transport_) poll();
    if (ready()) break;
    if (fault_.raised()) fail_as_peers();
    attend_to_letters();
    if (rank.go_on()) continue;
    mine.bell.sleep([&] { return ready() || fault_.raised() || letters_came(); }, nap);
    if (ready()) break;
    if (fault_.raised()) fail_as_peers();
    double t = seconds_now();
    if (u64 b = all_heartbeats(); b != beats) {
      beats = b;
      calm_since = t;
    } else if (options_.timeout > 0 && t - calm_since > options_.timeout) {
      patience_lost(rank, what());
    }
  }
  mine.waiting.store(false, std::memory_order_relaxed);
  return seconds_now() - begin;
}

}  // namespace sordino::host
