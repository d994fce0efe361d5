// Small programs on the host engine, for tests of how ranks wait, fail and stop.
#pragma once
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <thread>

#include "paper_engine.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace host_bench {

using namespace sordino;
using host::HostEngine;

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
inline auto now() { return std::chrono::steady_clock::now(); }
inline void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

struct AddGhosts {  // y = (sum of all ranks' first rows), in every row
  Ghost x;
  Out y;
  i32 rows, ghosts;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  SORDINO_HD void row(i32 i) {
    double s = x[0];
    for (i32 k = 0; k < ghosts; k++) s += x[rows + k];
    y[i] = s;
  }
};
struct Increase {  // x += y, and the sum of x over all rows of all ranks
  In y;
  InOut x;
  SORDINO_HD Sums<1> row(i32 i) {
    x[i] += y[i];
    return {x[i]};
  }
};
struct Reaches {
  Get sum, limit;
  SORDINO_HD int test() const { return sum >= limit ? met : proceed; }
  SORDINO_HD double value() const { return sum; }
};

/// A loop with every kind of phase: it pushes x, adds everybody's first rows to it, reduces, and tests. x begins as 1 on every
/// rank, so that after k iterations of P ranks each row of x is (1 + P)^k.
class Growth {
 public:
  static constexpr i32 rows = 5;

  explicit Growth(Rank& rank, double limit = 1e300)
      : s(rank), exchange_(paper::first_rows_to_all(rank.id(), rank.size(), rows)) {
    int space = paper::space_of(s, rows);
    x = s.vector("x", space, &exchange_);
    y = s.vector("y", space);
    sum = s.scalar("sum");
    end = s.scalar("limit", limit);
    begin = s.record([&] { s.run(paper::Overwrite{x}); });
    loop = s.loop({}, [&] {
      s.run(Nothing{}, push(x));
      s.run(AddGhosts{x, y, rows, exchange_.ghosts});
      s.run(Increase{y, x}, start(sum));
      s.exit_if(Reaches{finish(sum), end});
    });
  }
  Outcome run(int max) {
    s.replay(begin);
    return s.replay(loop, max);
  }

  Rank& s;
  Vec x, y;
  Scal sum, end;
  Recorded begin, loop;

 private:
  Exchange exchange_;
};

/// What a run that must fail throws.
inline Error error_of(HostEngine& engine, const std::function<void(Rank&)>& job) {
  try {
    engine.run(job, {});
  } catch (const Error& e) {
    return e;
  }
  return {Errc::unsupported, "no failure"};
}
inline std::string cause_of(HostEngine& engine, const std::function<void(Rank&)>& job) { return error_of(engine, job).what(); }

/// How a sentence begins that says where it happened, and what it says of epochs.
inline std::string place_of(const Cause& c) {
  return "rank " + std::to_string(c.rank) + ": command " + c.command + ", iteration " + std::to_string(c.iteration) + ": ";
}
inline std::string epochs_of(const Cause& c) {
  return ", epoch " + std::to_string(c.expected) + " (seen " + std::to_string(c.seen) + ")";
}

/// Runs Growth, and notes what each rank of this process is told of another's failure.
class Watched {
 public:
  explicit Watched(HostEngine& engine) : engine_(engine), told_(std::size_t(engine.local_ranks())) {}
  Error run(int iterations) {
    return error_of(engine_, [this, iterations](Rank& s) {
      try {
        Growth(s).run(iterations);
      } catch (const PeerFailed& e) {
        told_[std::size_t(s.id() - engine_.first_rank())] = e.cause();
        throw;
      }
    });
  }
  /// Nothing, if the rank itself failed.
  const std::optional<Cause>& told(int rank) const { return told_[std::size_t(rank - engine_.first_rank())]; }

 private:
  HostEngine& engine_;
  std::vector<std::optional<Cause>> told_;
};

}  // namespace host_bench
