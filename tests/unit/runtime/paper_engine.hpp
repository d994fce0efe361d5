// An engine on paper: rank 0 of several, alone. It computes nothing, does the bookkeeping that a Rank relies on, and counts
// what it is asked for. So recording, checking, caching and settling are tested without threads or time.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sordino/runtime/rank.hpp"

namespace paper {

using namespace sordino;

class PaperEngine final : public Engine {
 public:
  explicit PaperEngine(int size = 2) : size_(size), rank_(*this, 0) {}

  int compilations = 0, barriers = 0, replays = 0, prepared = 0;
  bool refuses_names = false;                   // for the next vector or reduction
  int exit_at = 0;                              // a replayed loop ends in this iteration with `met`; 0: at its maximum
  bool copies_stick = false;                    // those to twins do not end, and waits for them fail
  std::vector<std::vector<std::string>> bound;  // for each compilation, the vectors' names in the order of their buffers

  const char* name() const override { return "paper"; }
  Carrier carrier(int, int) const override { return Carrier::network; }
  int size() const override { return size_; }
  int local_ranks() const override { return 1; }
  void run(const std::function<void(Rank&)>& job, const std::function<void()>& = {}) override { job(rank_); }
  Rank& rank(int) override { return rank_; }

  void allocate(Rank&, int) override { refuse(); }
  void add_reduction(Rank&, int) override { refuse(); }
  void barrier(Rank&) override { barriers++; }
  std::unique_ptr<Program> compile(Rank&, const Recording& r, const std::vector<int>& vectors,
                                   const std::vector<int>&) override {
    compilations++;
    return std::make_unique<Bound>(*this, r, vectors);
  }
  void write(Rank&, int, const double*, i64) override {}
  void read(Rank&, int, double*, i64) override {}
  bool has_copied(Rank&, const TwinCopy&) override { return !copies_stick; }
  void wait_for_copy(Rank&, const TwinCopy&) override {
    if (copies_stick) throw Error(Errc::peer_failed, "waited in vain");
  }
  void set_scalar(Rank& rank, int physical, double value) override { rank.scalar_values[std::size_t(physical)] = value; }
  double get_scalar(Rank& rank, int physical) override { return rank.scalar_values[std::size_t(physical)]; }
  double now(Rank&) override { return 0; }
  void* allocate_bytes(Rank&, std::size_t) override { return nullptr; }
  void release_bytes(Rank&, void*, std::size_t) override {}
  void upload(Rank&, void*, const void*, std::size_t) override {}
  i64 bytes_held(int) const override { return 0; }
  void post(Rank&, int, i64, std::vector<std::byte>) override {}
  std::vector<std::byte> take(Rank&, int, i64) override { return {}; }
  std::optional<Letter> try_take(Rank&, int, i64) override { return {}; }
  void wait_for_mail(Rank&, const std::function<bool()>&, const std::function<std::string()>&) override {}

 private:
  void refuse() {
    if (std::exchange(refuses_names, false)) throw Error(Errc::unsupported, "no room for a name");
  }
  struct Bound final : Program {
    Bound(PaperEngine& e, const Recording& r, std::vector<int> v) : engine(e), recording(r), vectors(std::move(v)) {}
    void prepare() override { engine.prepared++; }
    void start(int m) override { max = m; }
    Advance advance() override { return Advance::ended; }
    Outcome wait() override { return engine.replay(*this, max); }
    PaperEngine& engine;
    const Recording& recording;
    std::vector<int> vectors;
    int max = 0;
  };

  Outcome replay(const Bound& p, int max) {
    replays++;
    int last = exit_at > 0 && exit_at < max ? exit_at : max;
    for (int iteration = 0; iteration < last; iteration++) {
      auto map = rotated(p.vectors, p.recording.rotate, iteration % p.recording.period);
      for (auto& c : p.recording.commands) {
        if (!c.active(iteration)) continue;
        if (c.test && iteration + 1 == exit_at && exit_at <= max) return {exit_at, met};
        for (auto& phase : c.phases) count(rank_, phase, map);
      }
    }
    return {last, proceed};
  }

  static void count(Rank& rank, const Phase& phase, const std::vector<int>& map) {
    auto slot = std::size_t(phase.slot);
    if (phase.op == Op::start) rank.reductions()[slot].started++;
    if (phase.op == Op::finish) rank.reductions()[slot].finished++;
    if (phase.op == Op::put) rank.pushed[std::size_t(map[slot])]++;
    if (phase.op == Op::await) rank.seen[std::size_t(map[slot])]++;
  }

  int size_;
  Rank rank_;
};

// --- things to record
// ---------------------------------------------------------------------------------------------------------

/// `rows` rows a rank; `replicated`: every rank holds all of them.
inline int space_of(Rank& s, i32 rows, bool replicated = false) {
  Space space;
  space.n_global = replicated ? rows : i64(rows) * s.size();
  space.first_row = replicated ? 0 : i64(rows) * s.id();
  space.rows = rows;
  space.n_blocks = replicated ? 1 : s.size();
  space.first_block = replicated ? 0 : s.id();
  space.replicated = replicated;
  set_tiles(space, {0, rows});
  return s.add_space(std::move(space));
}

/// Every rank sends its row 0 to all others; the ghost of rank q lies behind my rows, in increasing q.
inline Exchange first_rows_to_all(int rank, int ranks, i32 rows) {
  Exchange x;
  for (int q = 0; q < ranks; q++) {
    if (q == rank) continue;
    ExchangePeer p;
    p.rank = q;
    p.recv_first = rows + x.ghosts++;
    p.recv_count = p.send_count = 1;
    p.remote_index = rank < q ? rank : rank - 1;
    p.remote_first = rows + p.remote_index;
    x.peers.push_back(p);
  }
  x.producer = {{{0, 1}}, {}};
  x.consumer = {{}, {{0, rows}}};
  if (rows > 1) x.producer.rest = {{1, rows}};
  return x;
}

struct Copy {
  In from;
  Out to;
  SORDINO_HD void row(i32 i) { to[i] = from[i]; }
};
struct Overwrite {
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = 1; }
};
struct Square {
  In x;
  SORDINO_HD Sums<1> row(i32 i) { return {x[i] * x[i]}; }
};
struct ReadGhosts {
  Ghost x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = x[i]; }
};
struct ReadWhole {
  Whole x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = x[i]; }
};
struct Use {
  Get a;
};
struct Move {
  Get from;
  Put to;
  SORDINO_HD void head() { to = double(from); }
};
struct Small {
  Get s;
  SORDINO_HD int test() const { return s < 1e-9 ? met : proceed; }
  SORDINO_HD double value() const { return s; }
};

}  // namespace paper
