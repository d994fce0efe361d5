// Passes over incomplete factors as the threads of a GPU make them, by threads of a host that stand for warps: their bits are
// those of the command of a host, whatever the warps, their delays, and how often they have passed before.
#include "sordino/trsv/incomplete_walk.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "check.hpp"
#include "unit/trsv/incomplete_cases.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

/// The 32 lanes of a warp, one after the other on one thread.
class HostWarp {
 public:
  template <class T>
  class Each {
   public:
    template <class F>
    void each(const F& f) {
      for (i32 lane = 0; lane < 32; lane++) f(lanes_[std::size_t(lane)], lane);
    }
    template <class F>
    bool all(const F& f) {
      bool all = true;
      for (T& lane : lanes_) all &= f(lane);
      return all;
    }
    template <class F>
    double from(i32 lane, const F& f) const {
      return f(lanes_[std::size_t(lane)]);
    }

   private:
    std::array<T, 32> lanes_{};
  };

  HostWarp(std::atomic<bool>& abort, fresh::Random random, double chance) : abort_(abort), random_(random), chance_(chance) {}

  u32 take(u32* counter) {
    delay();
    return std::atomic_ref(*counter).fetch_add(1, std::memory_order_relaxed);
  }
  u32 known(u32 taken) const { return taken; }
  template <class F>
  void first(const F& f) {
    f();
  }
  u64 poll(const u64* word) {
    delay();
    return std::atomic_ref(*const_cast<u64*>(word)).load(std::memory_order_relaxed);
  }
  void tell(u64* word, u64 value) {
    delay();
    std::atomic_ref(*word).store(value, std::memory_order_relaxed);
  }
  void begin_wait() {}
  bool go_on(u32) {
    std::this_thread::yield();
    return !abort_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < patience_ends_;
  }

 private:
  void delay() {
    if (!random_.chance(chance_)) return;
    if (random_.chance(0.1))
      std::this_thread::sleep_for(std::chrono::microseconds(random_.whole(1, 100)));
    else
      std::this_thread::yield();
  }

  std::atomic<bool>& abort_;
  fresh::Random random_;
  double chance_;
  // A test that waits in vain is to fail.
  std::chrono::steady_clock::time_point patience_ends_ = std::chrono::steady_clock::now() + std::chrono::seconds(30);
};

/// A way's tables in memory of the host.
struct Stored {
  Stored(IncompleteWay w, const double* entries, const double* inverse_pivots)
      : way(std::move(w)), x(std::size_t(way.rows()), not_there) {
    fill(entries, inverse_pivots);
  }
  void fill(const double* entries, const double* inverse_pivots) {
    values = values_of(way, entries);
    if (way.has_pivots) pivots = pivots_of(way, inverse_pivots);
  }
  WayTables tables() {
    WayTables t;
    t.slices = way.packed.slices().data();
    t.rows = way.packed.rows().data();
    t.columns = way.columns.data();
    t.values = values.data();
    t.pivots = way.has_pivots ? pivots.data() : nullptr;
    t.x = x.data();
    t.tickets = &tickets;
    t.count = i32(way.packed.slices().size());
    return t;
  }
  IncompleteWay way;
  std::vector<double> values, pivots;
  std::vector<u64> x;
  u32 tickets = 0;
};

/// Whether all warps have ended their pass.
bool run_pass(const WayPass& pass, int warps, fresh::Random& random, double chance, std::atomic<bool>& abort) {
  std::atomic<bool> well{true};
  std::vector<std::thread> threads;
  for (int k = 0; k < warps; k++) {
    random.whole(0, 1);  // so that each has delays of its own
    threads.emplace_back([&, own = random] {
      HostWarp warp(abort, own, chance);
      if (!WayWalk<HostWarp>(pass, warp).run()) well = false;
    });
  }
  for (std::thread& t : threads) t.join();
  return well;
}

/// Both ways of one application.
bool apply(Stored& forward, Stored& back, const double* r, double* z, int warps, fresh::Random& random, double chance,
           std::atomic<bool>& abort) {
  return run_pass({forward.tables(), back.x.data(), &back.tickets, r, z}, warps, random, chance, abort) &&
         run_pass({back.tables(), forward.x.data(), &forward.tickets, z, z}, warps, random, chance, abort);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST("passes over incomplete factors have the bits of a host's command, whatever the warps and their delays") {
  NOTE(fresh::said());
  fresh::Random random(91);
  std::atomic<bool> abort{false};
  for (const incomplete_cases::Case& c : incomplete_cases::all(random))
    for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0}) {
      CsrMatrix A = c.A;
      incomplete_cases::Factors f(A, kind);
      Stored forward(way_forward(f.pattern(), kind), f.values.data(), f.inverse_pivots.data());
      Stored back(way_back(f.pattern(), kind), f.values.data(), f.inverse_pivots.data());
      for (int warps : {1, 2, 5, 12}) {
        NOTE(c.name, ", ", A.n, " rows, ", kind == Incomplete::ic0 ? "ic0, " : "ilu0, ", warps, " warps");
        for (int turn = 0; turn < 3; turn++) {
          const std::vector<double> r = random.normals(A.n);
          std::vector<double> z(r.size(), std::numeric_limits<double>::quiet_NaN());
          REQUIRE(apply(forward, back, r.data(), z.data(), warps, random, turn == 0 ? 0 : 0.02, abort));
          CHECK(same_bits(z, incomplete_cases::on_host(A, kind, r)));
        }
        incomplete_cases::change_values(A, random);  // the pattern's tables stay
        f.factorize(A);
        forward.fill(f.values.data(), f.inverse_pivots.data()), back.fill(f.values.data(), f.inverse_pivots.data());
      }
    }
}

TEST("passes over incomplete factors leave nothing behind: the thousandth is as the first one") {
  NOTE(fresh::said());
  fresh::Random random(92);
  std::atomic<bool> abort{false};
  const CsrMatrix A = incomplete_cases::grid(random, 6, 5, 4);
  incomplete_cases::Factors f(A, Incomplete::ilu0);
  Stored forward(way_forward(f.pattern(), Incomplete::ilu0), f.values.data(), f.inverse_pivots.data());
  Stored back(way_back(f.pattern(), Incomplete::ilu0), f.values.data(), f.inverse_pivots.data());
  const std::vector<double> r = random.normals(A.n), wanted = incomplete_cases::on_host(A, Incomplete::ilu0, r);
  for (int k = 0; k < 1000; k++) {
    std::vector<double> z = r;  // in place
    REQUIRE(apply(forward, back, z.data(), z.data(), k % 3 + 1, random, 0, abort));
    REQUIRE(same_bits(z, wanted));
    for (u64 word : forward.x) REQUIRE(word == not_there);
    REQUIRE(forward.tickets == 0);
  }
}

TEST("NaN and infinity in passes over incomplete factors are numbers that are there") {
  fresh::Random random(93);
  std::atomic<bool> abort{false};
  const CsrMatrix A = incomplete_cases::chain(100);
  incomplete_cases::Factors f(A, Incomplete::ic0);
  Stored forward(way_forward(f.pattern(), Incomplete::ic0), f.values.data(), f.inverse_pivots.data());
  Stored back(way_back(f.pattern(), Incomplete::ic0), f.values.data(), f.inverse_pivots.data());
  std::vector<double> r(100, 1.0), z(100);
  std::memcpy(&r[50], &not_there, sizeof(double));  // the NaN that stands for a number that is not there yet
  r[70] = std::numeric_limits<double>::infinity();
  REQUIRE(apply(forward, back, r.data(), z.data(), 2, random, 0, abort));
  for (double x : z) CHECK(x != x);  // on the way back all need row 50
  r[50] = r[70] = 1;
  REQUIRE(apply(forward, back, r.data(), z.data(), 2, random, 0, abort));
  CHECK(same_bits(z, incomplete_cases::on_host(A, Incomplete::ic0, r)));
}

TEST("a warp that waits for a row that nobody computes ends when it is told to, short rows and long ones") {
  NOTE(fresh::said());
  fresh::Random random(94);
  for (const CsrMatrix& A : {incomplete_cases::chain(200), incomplete_cases::dense_last_row(200)}) {
    incomplete_cases::Factors f(A, Incomplete::ilu0);
    Stored forward(way_forward(f.pattern(), Incomplete::ilu0), f.values.data(), f.inverse_pivots.data());
    Stored back(way_back(f.pattern(), Incomplete::ilu0), f.values.data(), f.inverse_pivots.data());
    // The last row needs itself.
    const LevelSlice& last = forward.way.packed.slices().back();
    const i32 lane = last.rows > 0 ? i32(last.rows) - 1 : 0;
    forward.way.columns[std::size_t(last.entries + lane)] = 199;
    std::atomic<bool> abort{false};
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      abort = true;
    });
    const std::vector<double> r = random.normals(A.n);
    std::vector<double> z(r.size());
    CHECK(!apply(forward, back, r.data(), z.data(), 3, random, 0, abort));
    later.join();
  }
}

TEST("tables of an incomplete factor's ways: every entry once, and rows behind those that they need") {
  NOTE(fresh::said());
  fresh::Random random(95);
  for (const incomplete_cases::Case& c : incomplete_cases::all(random))
    for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0}) {
      NOTE(c.name, ", ", c.A.n, " rows");
      const incomplete_cases::Factors f(c.A, kind);
      std::vector<int> seen(f.values.size(), 0);
      i64 slots = 0, bytes = 0;
      for (const IncompleteWay& way : {way_forward(f.pattern(), kind), way_back(f.pattern(), kind)}) {
        CHECK(way.rows() == f.pattern().rows);
        way.packed.each_slot([&](i64 slot, std::size_t row, i32) {
          CHECK(way.columns[std::size_t(slot)] < way.packed.rows()[row].place);
          seen[std::size_t(way.sources[std::size_t(slot)])]++;
        });
        slots += way.packed.slots(), bytes += way.bytes();
      }
      i64 off_diagonal = 0;
      for (i32 i = 0; i < f.pattern().rows; i++)
        for (i64 e = f.begin[std::size_t(i)]; e < f.begin[std::size_t(i) + 1]; e++) {
          const bool on_it = e == f.begin[std::size_t(i)] + f.diagonal[std::size_t(i)];
          CHECK(seen[std::size_t(e)] == (on_it ? 0 : kind == Incomplete::ic0 ? 2 : 1));
          off_diagonal += on_it ? 0 : kind == Incomplete::ic0 ? 2 : 1;
        }
      CHECK(slots >= off_diagonal);
      CHECK(bytes == IncompleteDevice::bytes_of(f.pattern(), kind) - 16);
    }
}

TEST("what a GPU would be given of incomplete factors is booked: memory, bytes moved, operations") {
  fresh::Random random(96);
  const CsrMatrix A = incomplete_cases::grid(random, 5, 4, 6, 1);
  const double n = double(A.n), below = (double(A.indices.size()) - n) / 2;
  host::Options options;
  options.ranks = 1;
  for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0}) {
    const incomplete_cases::Factors f(A, kind);
    host::HostEngine engine(options);
    engine.run([&](Rank& rank) {
      const i64 before = engine.bytes_held(0);
      {
        const int one_row = rank.add_space(equal_parts(1, 0, 1));
        IncompleteDevice device(rank, f.pattern(), kind, one_row);
        device.fill(rank, f.values.data(), f.inverse_pivots.data());
        CHECK(engine.bytes_held(0) - before == IncompleteDevice::bytes_of(f.pattern(), kind));
        const Vec x = rank.vector("x", rank.add_space(incomplete_cases::rows_of(A.n, rank, 1)));
        const DeviceTask task = device.task(x, x);
        CHECK(task.bytes == 24 * below + (kind == Incomplete::ic0 ? 112 : 104) * n);
        CHECK(task.flops == 4 * below + (kind == Incomplete::ic0 ? 2 : 1) * n);
        Recorded in_place = rank.record([&] { rank.device(task); });
        CHECK_THROWS(rank.replay(in_place), Error, "a device task without on_host runs on GPUs only");
      }
      CHECK(engine.bytes_held(0) - before <= i64(8 * (n + 1)));  // the vectors
    });
  }
}
