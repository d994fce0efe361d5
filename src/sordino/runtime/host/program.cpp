// A recording on the host engine: phases interpreted one after the other, with peers' memory resolved once.
#include <cstring>

#include "sordino/runtime/frame.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/host/wait.inl"

namespace sordino::host {

class HostProgram final : public Frame {
 public:
  HostProgram(HostEngine& engine, Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
              const std::vector<int>& scalar_map)
      : Frame(rank, recording, vector_map, scalar_map, [&](int p) { return engine.memory(rank.id()).vectors[p].get(); }),
        engine_(engine),
        mine_(engine.memory(rank.id())) {}

  Outcome replay(int max) {
    const auto& commands = recording().commands;
    int iteration = 0;
    std::size_t i = 0;
    try {
      for (; iteration < max; iteration++)
        for (i = 0; i < commands.size(); i++)
          if (commands[i].active(iteration))
            if (Verdict v = command(iteration, int(i)); v != proceed) return {iteration + 1, v};
    } catch (const PeerFailed&) {
      throw;
    } catch (const Error& e) {
      throw Error(e.code(), where(commands[i], iteration) + e.what());
    } catch (const std::exception& e) {
      throw Error(Errc::peer_failed, where(commands[i], iteration) + e.what());
    }
    return {max, proceed};
  }

 private:
  static std::string where(const Command& c, int iteration) {
    return "command " + c.name + ", iteration " + std::to_string(iteration) + ": ";
  }

  Verdict command(int iteration, int i) {
    const Command& c = recording().commands[i];
    int t = turn(iteration);
    if (engine_.fault_.raised()) engine_.fail_as_peers();
    engine_.attend(rank_);
    mine_.heartbeat.store(mine_.heartbeat.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bool timed = engine_.options_.time_commands || engine_.trace_.on;
    double begin = timed ? seconds_now() : 0;
    double waited = 0;
    Verdict verdict = proceed;
    for (auto& p : c.phases) {
      if (engine_.probe) engine_.probe(rank_, c, p.op, iteration);
      lost_ = engine_.loses && (p.op == Op::put || p.op == Op::start) && engine_.loses(rank_, c, p.op, iteration);
      switch (p.op) {
        case Op::launch: launch(c); break;
        case Op::finish: waited += finish(c, t, p.slot); break;
        case Op::exit_test: verdict = exit_test(t, i); break;
        case Op::head: head(t, i); break;
        case Op::await: waited += await(c, t, p.slot); break;
        case Op::tasks: tasks(t, i, p.slot); break;
        case Op::host: host_task(t, i); break;
        case Op::put: put(t, p.slot); break;
        case Op::start: start(c, p.slot); break;
      }
      if (verdict != proceed) break;
    }
    if (timed) book_time(c, begin, waited);
    return verdict;
  }

  Verdict exit_test(int t, int i) {
    Verdict v = test(t, i);
    if (rank_.id() == engine_.first_) {
      engine_.progress_.value.store(rank_.history.back(), std::memory_order_relaxed);
      engine_.progress_.iteration.fetch_add(1, std::memory_order_relaxed);
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

  double finish(const Command& c, int t, int slot) {
    auto& r = rank_.reductions()[slot];
    u32 epoch = ++r.finished;
    int parity = epoch & 1;
    Gather& g = *mine_.gathers[slot];
    double waited = 0;
    if (!rank_.space(r.space).replicated) {
      Flag* flags = &g.flags[parity * engine_.size_];
      int next = 0;
      auto complete = [&] {
        while (next < engine_.size_ && is_epoch(flags[next].word.load(std::memory_order_acquire), epoch)) next++;
        return next == engine_.size_;
      };
      double begin = engine_.trace_.on ? seconds_now() : 0;
      waited = engine_.wait(rank_, complete, [&] {
        return "rank " + std::to_string(next) + "'s part of the reduction into '" + rank_.scalar_names()[r.to[0]] +
               "', epoch " + std::to_string(epoch) + " (seen " + std::to_string(flags[next].word.load() >> 1) + ")";
      });
      for (int k = 0; k < engine_.size_; k++) rank_.stop_seen |= flags[k].word.load(std::memory_order_relaxed) & 1;
      rank_.ledger.exposed_reduction += waited;
      engine_.trace_.add(rank_.id(), c.queue, SpanKind::reduction_wait, c.name, begin, begin + waited);
    }
    deliver(t, slot, g.sums[parity].data());
    return waited;
  }

  // --- exchanges ------------------------------------------------------------------------------------------------------------
  void put(int t, int logical) {
    int v = physical_vector(t, logical);
    const Exchange& x = *rank_.vectors()[v].exchange;
    u32 word = mine_.sent[v] = flag_word(++rank_.pushed[v], engine_.stop_requested());
    const double* rows = mine_.vectors[v].get();
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

  double await(const Command& c, int t, int logical) {
    int v = physical_vector(t, logical);
    const Exchange& x = *rank_.vectors()[v].exchange;
    u32 epoch = ++rank_.seen[v];
    Flag* flags = mine_.arrivals[v].get();
    std::size_t next = 0;
    auto complete = [&] {
      while (next < x.peers.size() && is_epoch(flags[next].word.load(std::memory_order_acquire), epoch)) next++;
      return next == x.peers.size();
    };
    double begin = engine_.trace_.on ? seconds_now() : 0;
    double waited = engine_.wait(rank_, complete, [&] {
      return "rank " + std::to_string(x.peers[next].rank) + "'s rows of '" + rank_.vectors()[v].name + "', epoch " +
             std::to_string(epoch) + " (seen " + std::to_string(flags[next].word.load() >> 1) + ")";
    });
    if (x.everybody) {
      rank_.stop_seen |= mine_.sent[v] & 1;  // my own request, too: all ranks must agree
      for (std::size_t k = 0; k < x.peers.size(); k++) rank_.stop_seen |= flags[k].word.load(std::memory_order_relaxed) & 1;
    }
    rank_.ledger.exposed_halo += waited;
    engine_.trace_.add(rank_.id(), c.queue, SpanKind::halo_wait, c.name, begin, begin + waited);
    return waited;
  }

  void book_time(const Command& c, double begin, double waited) {
    double end = seconds_now();
    auto& k = rank_.ledger.kernels[c.name];
    k.calls++;
    k.seconds += end - begin - waited;
    k.bytes += c.bytes;
    k.flops += c.flops;
    engine_.trace_.add(rank_.id(), c.queue, SpanKind::compute, c.name, begin, end);
  }

  HostEngine& engine_;
  Memory& mine_;
  std::vector<double> staging_;
  bool lost_ = false;  // what the phase sends
};

std::unique_ptr<Program> HostEngine::compile(Rank& rank, const Recording& r, const std::vector<int>& vectors,
                                             const std::vector<int>& scalars) {
  return std::make_unique<HostProgram>(*this, rank, r, vectors, scalars);
}

Outcome HostEngine::replay(Rank&, Program& program, int max) { return static_cast<HostProgram&>(program).replay(max); }

}  // namespace sordino::host
