// Messages from rank to rank without the host: tokens travel round a ring of ranks, and each rank adds one to what passes.
//
//   build/examples/ring [ranks [laps]]
//
// A program is recorded once and replayed. A message is part of two commands: the one that has the data pushes it into the
// receiver's memory, and one that reads it waits for it. Here that is the same command, one iteration later.
#include <cstdio>
#include <cstdlib>

#include "sordino/base/error.hpp"
#include "sordino/comm/traffic.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

constexpr i32 words = 4;

// Takes the token that came from the left, and adds one. The token lies behind the rank's own words: ghosts.
struct Pass {
  Foreign<const double, Access::ghost> in;
  Out out;
  SORDINO_HD void row(i32 i) { out[i] = in[words + i] + 1; }
  Cost cost() const { return {8.0 * words, 1.0 * words}; }
};
struct Begin {
  Out token;
  double rank;
  SORDINO_HD void row(i32 i) { token[i] = 100 * rank + i; }
};

// What every rank does. True if its own token came home, changed by everybody.
bool round_the_ring(Rank& s, int laps) {
  int right = (s.id() + 1) % s.size(), left = (s.id() + s.size() - 1) % s.size();
  Exchange ring = point_to_point(s, words, {{right, {0, 1, 2, 3}}}, {{left, words}});

  int tokens = s.add_space(equal_parts(words, s.id(), s.size()));
  Vec a = s.vector("a", tokens, &ring), b = s.vector("b", tokens, &ring);

  // Two buffers take turns: nobody's token is overwritten before it is read. Without the second one, the recording is refused.
  Recorded begin = s.record([&] { s.run(Begin{a, double(s.id())}, push(a)); });
  Recorded loop = s.loop({.vectors = {{b, a}}}, [&] { s.run(Pass{a, b}, push(b)); });
  s.replay(begin);
  int steps = s.size() * laps;
  s.replay(loop, steps);

  double token[words];
  s.read(a, token);
  bool home = true;
  for (i32 i = 0; i < words; i++) home &= token[i] == 100 * s.id() + i + steps;
  return home;
}

int main(int argc, char** argv) try {
  int ranks = argc > 1 ? std::atoi(argv[1]) : 4, laps = argc > 2 ? std::atoi(argv[2]) : 1000;
  if (ranks < 2 || laps < 1) bad_argument("a ring takes 2 ranks and a lap at least");
  host::HostEngine engine({.ranks = ranks});
  std::vector<char> home(static_cast<std::size_t>(ranks));
  engine.run([&](Rank& s) { home[std::size_t(s.id())] = round_the_ring(s, laps); });
  for (char h : home)
    if (!h) return std::puts("a token was lost"), 3;
  const Ledger& ledger = engine.rank(0).ledger;
  std::printf("%d tokens went round %d times; rank 0 sent %lld messages, %lld bytes\n", ranks, laps,
              static_cast<long long>(ledger.messages), static_cast<long long>(ledger.bytes_sent));
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "ring: %s\n", error.what());
  return error.code() == Errc::bad_argument ? 2 : 4;
}
