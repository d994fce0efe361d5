// What each phase of a command does on the model engine, and how much virtual time it takes.
#include <algorithm>

#include "sordino/runtime/model/program.hpp"

namespace sordino::model {

bool ModelProgram::launch(Queue& q, const Step& s) {
  const Command& c = recording().commands[s.command];
  for (auto& d : c.after) {
    if (booked_[d.command].runs < q.iteration + 1 - d.age) return block(q);
    q.now = std::max(q.now, booked_[d.command].done_at);
  }
  Frame::launch(c);
  q.began = q.now;
  q.now += s.seconds + here_.noise.delay();
  q.pace = here_.processor.pace(s.spread);
  note(SpanKind::launch, s.command, c.name, q.began, q.now);
  return true;
}

// The task group is computed when it begins: what it reads cannot change before it ends, or the program has a race.
bool ModelProgram::tasks(Queue& q, const Step& s) {
  if (engine_.options_.arithmetic) Frame::tasks(turn(q.iteration), s.command, s.slot);
  double seconds = here_.processor.taken(q.now, s.seconds * q.pace);
  if (is_alone() || !engine_.agenda_.in_time_order()) {
    q.now += seconds;
    return true;
  }
  device_.add(int(&q - queues_.data()), seconds, q.now);
  engine_.agenda_.add(who(rank_.id(), device_lane), device_.next());
  q.state = State::computing;
  return false;
}

bool ModelProgram::exit_test(Queue& q, const Step& s) {
  Verdict verdict = proceed;
  if (engine_.options_.arithmetic)
    verdict = test(turn(q.iteration), s.command);
  else if (engine_.options_.exit_at > 0 && q.iteration + 1 >= engine_.options_.exit_at)
    verdict = met;
  if (rank_.id() == 0) {
    if (engine_.options_.arithmetic) engine_.progress_.value.store(rank_.history.back(), std::memory_order_relaxed);
    engine_.progress_.iteration.fetch_add(recording().steps, std::memory_order_relaxed);
  }
  if (verdict == proceed && q.stop_seen) verdict = asked_to_stop;
  if (verdict == proceed) return true;
  outcome_ = {q.iteration + 1, verdict};
  exit_command_ = s.command;
  book(q, s.command);
  leave(q);
  wake_blocked_launches(q);
  return false;
}

// On the processor of the rank's program, when that waits or looks; a program that is elsewhere is not interrupted.
bool ModelProgram::host(Queue& q, const Step& s) {
  if (!here_.attends()) return block(q);
  q.now = std::max(q.now, here_.attends_since);
  Inside inside = rank_.enter_replay();
  if (engine_.options_.arithmetic) host_task(turn(q.iteration), s.command);
  q.now += s.seconds;
  here_.processor_busy_until = q.now;
  engine_.agenda_.add(who(rank_.id(), processor_lane), q.now);
  return true;
}

void ModelProgram::book_wait(Queue& q, double wait, SpanKind kind, int command) {
  note(kind, command, recording().commands[command].name, q.now, q.now + wait);
  q.waited += wait;
  q.now += wait;
}

// --- reductions -------------------------------------------------------------------------------------------------------------

// Blocks that send rows hand in their sums when these have left: the fence comes first (runtime/cuda/command.cuh).
void ModelProgram::start(Queue& q, const Step& s) {
  const Command& c = recording().commands[s.command];
  auto& r = rank_.reductions()[s.slot];
  const Space& space = rank_.space(r.space);
  bool real = engine_.options_.arithmetic;
  u32 number = ++r.started;
  q.now = std::max(q.now, q.sends_until);
  if (!c.joins) q.now += engine_.options_.machine.reduction_start_s;
  if (space.replicated) {
    if (real) block_sums(c, here_.own_sums[s.slot].data());
    return;
  }
  int ranks = engine_.size();
  Epoch& e = engine_.collectives_[s.slot].epochs[number & 1];
  if (e.number != number) {
    if (e.unread > 0)
      bad_argument("the reduction into '" + rank_.scalar_names()[r.to[0]] +
                   "' is started again before all ranks have finished it");
    e.number = number;
    e.started = 0;
    e.unread = ranks;
    e.stop = false;
    e.last = never;
  }
  if (real) block_sums(c, e.sums.data() + std::size_t(space.first_block) * r.values());
  here_.started[s.slot][number & 1] = q.now;
  e.stop |= engine_.stop_requested();
  e.last = std::max(e.last, q.now);
  if (engine_.summing()) {
    e.starts.resize(std::size_t(ranks));
    e.starts[std::size_t(rank_.id())] = q.now;
  }
  if (++e.started < ranks) return;
  if (engine_.summing()) e.ends = engine_.summing()->ends(engine_.options_.machine, e.starts);
  for (Who w : e.waiters) engine_.wake_queue(w, engine_.result_at(e, rank_of(w)));
  e.waiters.clear();
}

bool ModelProgram::finish(Queue& q, const Step& s) {
  auto& r = rank_.reductions()[s.slot];
  bool real = engine_.options_.arithmetic;
  u32 number = r.finished + 1;
  if (rank_.space(r.space).replicated) {
    r.finished = number;
    if (real) deliver(turn(q.iteration), s.slot, here_.own_sums[s.slot].data());
    return true;
  }
  Epoch& e = engine_.collectives_[s.slot].epochs[number & 1];
  if (!e.complete(number, engine_.size())) {
    e.waiters.push_back(q.party);
    return block(q);
  }
  r.finished = number;
  e.unread--;
  q.stop_seen |= e.stop;
  if (r.joins) {  // it has come with that one, which has ended
    if (real) deliver(turn(q.iteration), s.slot, e.sums.data());
    return true;
  }
  double delay = engine_.size() == 1 ? 0 : here_.noise.delay();
  double latency = engine_.reduction_latency(rank_.id()) + delay;
  double wait = std::max(0.0, engine_.result_at(e, rank_.id()) + delay - q.now);
  double exposed = std::clamp(here_.started[s.slot][number & 1] + latency - q.now, 0.0, wait);
  rank_.ledger.exposed_reduction += exposed;
  rank_.ledger.hidden_reduction += latency - exposed;
  rank_.ledger.imbalance += wait - exposed;
  note(SpanKind::reduction, s.command, rank_.scalar_names()[r.to[0]], here_.started[s.slot][number & 1],
       engine_.result_at(e, rank_.id()) + delay);
  book_wait(q, wait, SpanKind::reduction_wait, s.command);
  if (real) deliver(turn(q.iteration), s.slot, e.sums.data());
  return true;
}

// --- exchanges --------------------------------------------------------------------------------------------------------------

void ModelProgram::put(Queue& q, const Step& s) {
  int v = physical_vector(turn(q.iteration), s.slot);
  const Exchange& x = *rank_.vectors()[v].exchange;
  u32 epoch = ++rank_.pushed[v];
  bool stop = x.hop == Hop::second ? rank_.stop_to_hand_on : engine_.stop_requested();
  here_.sent[v] = {q.now, stop};
  book_put(x);
  if (!x.peers.empty()) q.sends_until = q.now + engine_.options_.machine.push_s;
  for (auto& p : x.peers) {
    Place& there = *engine_.places_[p.rank];
    Arrival& a = there.arrivals[v][p.remote_index];
    if (a.unread || (engine_.agenda_.in_time_order() && q.now < a.read_until))
      bad_argument("the ghosts of '" + rank_.vectors()[v].name + "' on rank " + std::to_string(p.rank) +
                   " are overwritten before they are read");
    if (engine_.options_.arithmetic) pack(p, here_.vectors[v].get(), there.vectors[v].get() + p.remote_first);
    q.now += engine_.options_.machine.put_overhead_s;
    a.epoch = epoch;
    a.stop = stop;
    a.unread = true;
    a.at = engine_.deliver_at(here_, p.rank, double(p.send_count) * sizeof(double), q.now);
    a.flight = a.at - here_.sent[v].at;
    if (!a.awaited) continue;
    a.awaited = false;
    engine_.wake_queue(a.waiter, a.at);
  }
}

bool ModelProgram::await(Queue& q, const Step& s) {
  int v = physical_vector(turn(q.iteration), s.slot);
  const Exchange& x = *rank_.vectors()[v].exchange;
  auto& arrivals = here_.arrivals[v];
  u32 epoch = rank_.seen[v] + 1;
  for (; q.next_peer < x.peers.size(); q.next_peer++) {
    Arrival& a = arrivals[q.next_peer];
    if (a.epoch == epoch) continue;
    a.awaited = true;
    a.waiter = q.party;
    return block(q);
  }
  rank_.seen[v] = epoch;
  double last = never, last_if_balanced = never;
  bool stop = here_.sent[v].stop;
  for (auto& a : arrivals) {
    last = std::max(last, a.at);
    last_if_balanced = std::max(last_if_balanced, here_.sent[v].at + a.flight);
    stop |= a.stop;
  }
  if (x.hop == Hop::first) rank_.stop_to_hand_on = stop;
  if (x.everybody || x.hop == Hop::second) q.stop_seen |= stop;
  double wait = std::max(0.0, last - q.now);
  double exposed = std::clamp(last_if_balanced - q.now, 0.0, wait);
  rank_.ledger.exposed_halo += exposed;
  rank_.ledger.imbalance += wait - exposed;
  note(SpanKind::halo, s.command, rank_.vectors()[v].name, here_.sent[v].at, last);
  book_wait(q, wait, SpanKind::halo_wait, s.command);
  return true;
}

void ModelProgram::ghosts_are_read(const Queue& q, int command) {
  for (int logical : ghost_reads_[command])
    for (auto& a : here_.arrivals[physical_vector(turn(q.iteration), logical)]) {
      a.unread = false;
      a.read_until = q.now;
    }
}

// --- who waits for what -----------------------------------------------------------------------------------------------------

Awaited ModelProgram::what_blocks(const Queue& q) const {
  const Step& s = q.steps[q.at];
  if (s.op == Op::finish) return missing_part(s.slot);
  if (s.op == Op::await) return missing_rows(q, s.slot);
  if (s.op == Op::host) return {"its program to wait or to test"};
  for (auto& d : recording().commands[s.command].after)
    if (booked_[d.command].runs < q.iteration + 1 - d.age)
      return {"command " + recording().commands[d.command].name + " of another queue"};
  return {"nothing"};
}

Awaited ModelProgram::missing_part(int slot) const {
  auto& r = rank_.reductions()[slot];
  std::string sum = "the reduction into '" + rank_.scalar_names()[r.to[0]] + "'";
  u32 number = r.finished + 1;
  for (auto& other : engine_.places_) {
    auto& theirs = other->rank.reductions();
    u32 seen = std::size_t(slot) < theirs.size() ? theirs[slot].started : 0;
    if (i32(seen - number) < 0) return {"rank " + std::to_string(other->rank.id()) + "'s part of " + sum, number, seen};
  }
  return sum;
}

Awaited ModelProgram::missing_rows(const Queue& q, int logical) const {
  int v = physical_vector(turn(q.iteration), logical);
  const Exchange& x = *rank_.vectors()[v].exchange;
  std::size_t peer = std::min(q.next_peer, x.peers.size() - 1);
  return {"rank " + std::to_string(x.peers[peer].rank) + "'s rows of '" + rank_.vectors()[v].name + "'", rank_.seen[v] + 1,
          here_.arrivals[v][peer].epoch};
}

}  // namespace sordino::model
