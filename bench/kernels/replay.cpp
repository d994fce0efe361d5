// What replaying a command costs the host: nanoseconds of an empty command, of one with two rows and a scalar, and of a
// reduction that is started and finished, on 1 and 2 ranks.
#include <chrono>
#include <cstdio>

#include "sordino/runtime/host/engine.hpp"

namespace {
using namespace sordino;

struct Update {
  Get alpha;
  In p;
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] += alpha * p[i]; }
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Body>
double nanoseconds_per_command(Rank& s, int commands, Body body) {
  const int iterations = 200'000;
  Recorded loop = s.loop({}, body);
  s.replay(loop, 1000);
  double begin = seconds();
  s.replay(loop, iterations);
  return (seconds() - begin) / iterations / commands * 1e9;
}

void measure(int ranks) {
  host::HostEngine engine({.ranks = ranks});
  double empty = 0, rows = 0, reduction = 0;
  engine.run(
      [&](Rank& s) {
        Space space;
        space.n_global = 2 * ranks;
        space.first_row = 2 * s.id();
        space.rows = 2;
        space.n_blocks = ranks;
        space.first_block = s.id();
        set_tiles(space, {0, 2});
        int id = s.add_space(space);
        Vec x = s.vector("x", id), p = s.vector("p", id);
        Scal sum = s.scalar("sum"), one = s.scalar("one", 1);
        double a = nanoseconds_per_command(s, 3, [&] {
          for (int k = 0; k < 3; k++) s.run(Nothing{});
        });
        double b = nanoseconds_per_command(s, 3, [&] {
          for (int k = 0; k < 3; k++) s.run(Update{one, p, x});
        });
        double c = nanoseconds_per_command(s, 1, [&] {
          s.dots(dot(x, x) >> sum);
          s.wait(sum);
        });
        if (s.id() == 0) empty = a, rows = b, reduction = c;
      },
      {});
  std::printf("%d rank(s): empty %.0f ns, two rows with a scalar %.0f ns, a reduction in two commands %.0f ns\n", ranks, empty,
              rows, reduction);
}

}  // namespace

int main() {
  for (int ranks : {1, 2}) measure(ranks);
}
