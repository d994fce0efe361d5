// A recording on the host engine: phases interpreted one after the other, with peers' memory resolved once.
#include <cstring>
#include <optional>
#include <utility>

#include "sordino/base/range.hpp"
#include "sordino/runtime/frame.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/host/wait.inl"
#include "sordino/runtime/patience.hpp"

namespace sordino::host {

class HostProgram final : public Frame {
 public:
  HostProgram(HostEngine& engine, Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
              const std::vector<int>& scalar_map)
      : Frame(rank, recording, vector_map, scalar_map, [&](int p) { return engine.memory(rank.id()).vectors[p].get(); }),
        engine_(engine),
        mine_(engine.memory(rank.id())) {}

  void start(int max) override {
    max_ = max;
    at_ = {};
    outcome_ = {max, proceed};
    find_active();
  }

  Advance advance() override {
    if (engine_.transport_) engine_.poll();
    may_wait_ = false;
    return with_place([this] { return step(); });
  }

  Outcome wait() override {
    may_wait_ = true;
    with_place([this] {
      while (step() != Advance::ended) {
      }
      return Advance::ended;
    });
    return outcome_;
  }

 private:
  /// How far the replay is. A command that cannot go on without waiting is left between two of its phases.
  struct At {
    int iteration = 0;
    std::size_t command = 0, phase = 0;
    bool over = false;
    bool blocked = false;                             // the phase has begun
    double began = 0, waited = 0, blocked_since = 0;  // of the command; seconds
  };

  template <class Steps>
  Advance with_place(const Steps& steps) {
    try {
      return steps();
    } catch (const PeerFailed&) {
      throw;
    } catch (...) {
      throw caught(where(), {.command = recording().commands[at_.command].name, .iteration = at_.iteration});
    }
  }

  std::string where() const {
    return "command " + recording().commands[at_.command].name + ", iteration " + std::to_string(at_.iteration) + ": ";
  }

  void find_active() {
    const auto& commands = recording().commands;
    for (; at_.iteration < max_; at_.iteration++, at_.command = 0)
      for (; at_.command < commands.size(); at_.command++)
        if (commands[at_.command].active(at_.iteration)) return;
    at_.over = true;
  }

  /// A command, or what is left of it.
  Advance step() {
    if (at_.over) return Advance::ended;
    std::size_t phase = at_.phase;
    Verdict verdict = proceed;
    if (!command(verdict)) return at_.phase > phase ? Advance::moved : Advance::blocked;
    at_.phase = 0;
    if (verdict != proceed) {
      outcome_ = {at_.iteration + 1, verdict};
      at_.over = true;
    } else {
      at_.command++;
      find_active();
    }
    return at_.over ? Advance::ended : Advance::moved;
  }

  /// False: it is left blocked.
  bool command(Verdict& verdict) {
    const Command& c = recording().commands[at_.command];
    Range range(c.name);
    int i = int(at_.command), t = turn(at_.iteration);
    bool timed = engine_.options_.time_commands || engine_.trace_.on;
    if (engine_.fault_.raised()) engine_.fail_as_peers();
    if (!at_.blocked) enter(timed);
    for (; at_.phase < c.phases.size() && verdict == proceed; at_.phase++) {
      const Phase& p = c.phases[at_.phase];
      if (!std::exchange(at_.blocked, false)) ask_tests(c, p.op);
      switch (p.op) {
        case Op::launch: launch(c); break;
        case Op::finish: at_.blocked = !finish(c, t, p.slot); break;
        case Op::exit_test: verdict = exit_test(t, i); break;
        case Op::head: head(t, i); break;
        case Op::await: at_.blocked = !await(c, t, p.slot); break;
        case Op::tasks: tasks(t, i, p.slot); break;
        case Op::host: host_task(t, i); break;
        case Op::put: put(t, p.slot); break;
        case Op::start: start(c, p.slot); break;
      }
      if (at_.blocked) return false;
    }
    if (timed) book_time(c);
    return true;
  }

  void enter(bool timed) {
    engine_.attend(rank_);
    mine_.heartbeat.store(mine_.heartbeat.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    at_.began = timed ? seconds_now() : 0;
    at_.waited = 0;
  }

  void ask_tests(const Command& c, Op op) {
    if (engine_.probe) engine_.probe(rank_, c, op, at_.iteration);
    lost_ = engine_.loses && (op == Op::put || op == Op::start) && engine_.loses(rank_, c, op, at_.iteration);
  }

  /// Waits until ready(), and returns for how long; or, where it may only look, nothing while it is not.
  template <class Ready, class What>
  std::optional<double> await_or_look(const Ready& ready, const What& what) {
    bool looked_before = at_.blocked_since > 0;
    if (!may_wait_ && !ready()) {
      double now = seconds_now();
      u64 beats = engine_.all_heartbeats();
      if (!looked_before) {
        at_.blocked_since = now;
        patience_.begin(beats, now);
      }
      double timeout = engine_.options_.timeout;
      if (patience_.calm(beats, now) > timeout && timeout > 0) {
        mine_.waiting.store(true, std::memory_order_relaxed);
        engine_.patience_lost(rank_, what());
      }
      return std::nullopt;
    }
    if (looked_before) at_.waited += seconds_now() - std::exchange(at_.blocked_since, 0);  // the thread was elsewhere
    double waited = engine_.wait(rank_, ready, what);
    at_.waited += waited;
    return waited;
  }

  Verdict exit_test(int t, int i) {
    Verdict v = test(t, i);
    if (rank_.id() == engine_.first_) {
      engine_.progress_.value.store(rank_.history.back(), std::memory_order_relaxed);
      engine_.progress_.iteration.fetch_add(recording().steps, std::memory_order_relaxed);
    }
    if (v == proceed && rank_.stop_seen) v = asked_to_stop;
    return v;
  }

  // --- reductions -----------------------------------------------------------------------------------------------------------
  void start(const Command& c, int slot) {
    auto& r = rank_.reductions()[slot];
    const Space& space = rank_.space(r.space);
    u32 epoch = ++r.started;
    int parity = epoch & 1;
    Gather& own = *mine_.gathers[slot];
    if (engine_.trace_.on) own.started[parity] = seconds_now();
    if (goes_another_way(space)) {
      if (!lost_) engine_.summing()->start(rank_, slot, epoch, own_part(c, engine_.stop_requested()));
      return;
    }
    std::size_t place = std::size_t(space.first_block) * r.values();
    std::size_t count = std::size_t(space.my_blocks()) * r.values();
    double* sums = own.sums[parity].data() + place;
    block_sums(c, sums);
    if (space.replicated) return;
    u32 word = flag_word(epoch, engine_.stop_requested());
    for (int to = 0; to < engine_.size_; to++) {
      if (lost_ && to != rank_.id()) continue;
      if (engine_.is_local(to)) {
        Gather& g = *engine_.memory(to).gathers[slot];
        if (&g != &own) std::memcpy(g.sums[parity].data() + place, sums, count * sizeof(double));
        engine_.signal(g.flags[parity * engine_.size_ + rank_.id()], word, to);
      } else {
        engine_.send({Message::reduction, slot, rank_.id(), to, word, i32(place), 0}, sums, count * sizeof(double));
      }
    }
  }

  bool goes_another_way(const Space& space) const { return engine_.summing() && !space.replicated; }

  /// False: it would have to wait, and may not.
  bool finish(const Command& c, int t, int slot) {
    auto& r = rank_.reductions()[slot];
    u32 epoch = r.finished + 1;
    if (goes_another_way(rank_.space(r.space))) return finish_another_way(c, t, slot, epoch);
    int parity = epoch & 1;
    Gather& g = *mine_.gathers[slot];
    if (!rank_.space(r.space).replicated) {
      Flag* flags = &g.flags[parity * engine_.size_];
      int next = 0;
      auto complete = [&] {
        while (next < engine_.size_ && is_epoch(flags[next].word.load(std::memory_order_acquire), epoch)) next++;
        return next == engine_.size_;
      };
      double begin = engine_.trace_.on ? seconds_now() : 0;
      auto waited = await_or_look(complete, [&] {
        return Awaited("rank " + std::to_string(next) + "'s part of the reduction into '" + rank_.scalar_names()[r.to[0]] + "'",
                       epoch, flags[next].word.load() >> 1);
      });
      if (!waited) return false;
      for (int k = 0; k < engine_.size_; k++) rank_.stop_seen |= flags[k].word.load(std::memory_order_relaxed) & 1;
      book_sum(c, slot, epoch, begin, *waited);
    }
    r.finished = epoch;
    deliver(t, slot, g.sums[parity].data());
    return true;
  }

  bool finish_another_way(const Command& c, int t, int slot, u32 epoch) {
    auto& r = rank_.reductions()[slot];
    const std::vector<double>* sum = nullptr;
    double begin = engine_.trace_.on ? seconds_now() : 0;
    auto waited = await_or_look([&] { return (sum = engine_.summing()->result(rank_, slot, epoch)) != nullptr; },
                                [&] {
                                  return Awaited(engine_.summing()->missing(rank_, slot, epoch) + ", the reduction into '" +
                                                     rank_.scalar_names()[r.to[0]] + "'",
                                                 epoch, epoch - 1);
                                });
    if (!waited) return false;
    r.finished = epoch;
    rank_.stop_seen |= deliver_sum(t, slot, *sum);
    book_sum(c, slot, epoch, begin, *waited);
    return true;
  }

  /// The result has come, after a wait from `begin` on.
  void book_sum(const Command& c, int slot, u32 epoch, double begin, double waited) {
    rank_.ledger.exposed_reduction += waited;
    engine_.trace_.add(rank_.id(), c.queue, SpanKind::reduction_wait, c.name, begin, begin + waited);
    if (engine_.size_ == 1) return;  // nothing is under way
    engine_.trace_.add(rank_.id(), c.queue, SpanKind::reduction, rank_.scalar_names()[rank_.reductions()[slot].to[0]],
                       mine_.gathers[slot]->started[epoch & 1], begin + waited);
  }

  // --- exchanges ------------------------------------------------------------------------------------------------------------
  void put(int t, int logical) {
    int v = physical_vector(t, logical);
    const Exchange& x = *rank_.vectors()[v].exchange;
    const bool stop = x.hop == Hop::second ? rank_.stop_to_hand_on : engine_.stop_requested();
    u32 word = mine_.sent[v] = flag_word(++rank_.pushed[v], stop);
    const double* rows = mine_.vectors[v].get();
    if (engine_.trace_.on) mine_.sent_at[v] = seconds_now();
    book_put(x);
    for (auto& p : x.peers) {
      if (lost_) continue;
      if (engine_.is_local(p.rank)) {
        Memory& to = engine_.memory(p.rank);
        pack(p, rows, to.vectors[v].get() + p.remote_first);
        engine_.signal(to.arrivals[v][p.remote_index], word, p.rank);
      } else {
        staging_.resize(p.send_count);
        pack(p, rows, staging_.data());
        engine_.send({Message::halo, v, rank_.id(), p.rank, word, p.remote_first, p.remote_index}, staging_.data(),
                     staging_.size() * sizeof(double));
      }
    }
  }

  bool await(const Command& c, int t, int logical) {
    int v = physical_vector(t, logical);
    const Exchange& x = *rank_.vectors()[v].exchange;
    u32 epoch = rank_.seen[v] + 1;
    Flag* flags = mine_.arrivals[v].get();
    std::size_t next = 0;
    auto complete = [&] {
      while (next < x.peers.size() && is_epoch(flags[next].word.load(std::memory_order_acquire), epoch)) next++;
      return next == x.peers.size();
    };
    double begin = engine_.trace_.on ? seconds_now() : 0;
    auto waited = await_or_look(complete, [&] {
      return Awaited("rank " + std::to_string(x.peers[next].rank) + "'s rows of '" + rank_.vectors()[v].name + "'", epoch,
                     flags[next].word.load() >> 1);
    });
    if (!waited) return false;
    rank_.seen[v] = epoch;
    bool stop = mine_.sent[v] & 1;  // my own request, too: all ranks must agree
    for (std::size_t k = 0; k < x.peers.size(); k++) stop |= flags[k].word.load(std::memory_order_relaxed) & 1;
    if (x.hop == Hop::first) rank_.stop_to_hand_on = stop;
    if (x.everybody || x.hop == Hop::second) rank_.stop_seen |= stop;
    rank_.ledger.exposed_halo += *waited;
    engine_.trace_.add(rank_.id(), c.queue, SpanKind::halo_wait, c.name, begin, begin + *waited);
    if (!x.peers.empty())
      engine_.trace_.add(rank_.id(), c.queue, SpanKind::halo, rank_.vectors()[v].name, mine_.sent_at[v], begin + *waited);
    return true;
  }

  void book_time(const Command& c) {
    double end = seconds_now();
    auto& k = rank_.ledger.kernels[c.name];
    k.calls++;
    k.seconds += end - at_.began - at_.waited;
    k.bytes += c.bytes;
    k.flops += c.flops;
    engine_.trace_.add(rank_.id(), c.queue, SpanKind::compute, c.name, at_.began, end);
  }

  HostEngine& engine_;
  Memory& mine_;
  std::vector<double> staging_;
  bool lost_ = false;  // what the phase sends
  int max_ = 0;
  At at_;
  Outcome outcome_;
  bool may_wait_ = true;
  Patience patience_;
};

std::unique_ptr<Program> HostEngine::compile(Rank& rank, const Recording& r, const std::vector<int>& vectors,
                                             const std::vector<int>& scalars) {
  if (rank.checking && sends(r)) barrier(rank);  // nobody begins before all have compared what they record
  return std::make_unique<HostProgram>(*this, rank, r, vectors, scalars);
}

}  // namespace sordino::host
