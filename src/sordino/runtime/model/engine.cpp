// The model engine's course of events: whose turn it is, programs between recordings, faults.
#include "sordino/runtime/model/engine.hpp"

#include <algorithm>

#include "sordino/runtime/model/program.hpp"
#include "sordino/runtime/model/rows.hpp"

namespace sordino::model {
namespace {

const Options& checked(const Options& o) {
  validate(o.machine);
  if (o.ranks < 1) bad_argument("the number of ranks must be at least 1, not " + std::to_string(o.ranks));
  if (o.exit_at < 0) bad_argument("exit_at must be at least 0, not " + std::to_string(o.exit_at));
  return o;
}

}  // namespace

ModelEngine::ModelEngine(const Options& options)
    : options_(checked(options)),
      rows_(std::make_unique<ModelRows>(*this)),
      stacks_(options.ranks, options.stack_bytes),
      agenda_(options.seed) {
  for (int i = 0; i < options_.ranks; i++)
    places_.push_back(
        std::make_unique<Place>(*this, i, Noise(options_.seed, i, options_.machine.jitter_s), Processor(options_.machine, i)));
}

ModelEngine::~ModelEngine() = default;

// Only its messages take time here: what they bring is added in the order of the engine's own way.
void ModelEngine::sum_by(std::unique_ptr<Summing> way) {
  latencies_.clear();
  if (way) latencies_ = way->ends(options_.machine, std::vector<double>(std::size_t(size()), 0.0));
  Engine::sum_by(std::move(way));
}

// --- the run ----------------------------------------------------------------------------------------------------------------

void ModelEngine::run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise) {
  if (fault_.raised()) throw failed_before(fault_.error());
  if (running_) bad_argument("run() was called inside run()");
  running_ = true;
  ended_ = 0;
  for (int i = 0; i < size(); i++) {
    Place& p = *places_[i];
    p.program.prepare(stacks_.bottom(i), stacks_.bytes(), [this, &p, &job] { program_of(p, job); });
    wake_program(p, p.clock);
    for (auto& letter : p.in_transit) agenda_.add(who(i, mail_lane), letter.letter.at);  // of an earlier run
  }
  looked_up_ = std::chrono::steady_clock::now();
  while (ended_ < size()) {
    if (fault_.raised() && !winding_up_) wind_up();
    if (agenda_.empty()) {
      fault_.raise(nobody_can_go_on("no rank can go on: "));
      continue;
    }
    act(agenda_.next());
    if (supervise && (options_.arithmetic || events_ % 64 == 0)) look_up(supervise);
  }
  agenda_.clear();
  stacks_.release();
  running_ = false;
  align_clocks();  // whoever called run() goes on when the last rank has ended
  if (supervisor_failed_) std::rethrow_exception(supervisor_failed_);
  if (fault_.raised()) throw fault_.error();
}

void ModelEngine::program_of(Place& place, const std::function<void(Rank&)>& job) {
  std::string who = "rank " + std::to_string(place.rank.id()) + ": ";
  try {
    place.rank.run_job(job);
  } catch (const PeerFailed&) {
  } catch (...) {
    fault_.raise(caught(who, {.rank = place.rank.id()}));
  }
  place.replaying = nullptr;
  place.rank.leave_job();
}

void ModelEngine::act(const Event& event) {
  events_++;
  Place& p = *places_[rank_of(event.party)];
  int lane = lane_of(event.party);
  if (lane == program_lane) {
    if (!p.tests_replay) idle_tests_ = 0;
    p.woken = false;
    go_on(p);
    return;
  }
  idle_tests_ = 0;
  if (lane == mail_lane) {
    deliver_letter(p);
  } else if (lane == processor_lane) {
    leave_host_task(p);
  } else if (!p.replaying) {
    return;  // a program that caught its failure left this behind
  } else if (lane == device_lane) {
    p.replaying->device_due(event.due);
  } else {
    p.replaying->act(lane);
  }
}

void ModelEngine::go_on(Place& place) {
  if (place.program.ended()) return;
  place.program.resume();
  ended_ += place.program.ended();
}

void ModelEngine::look_up(const std::function<void()>& supervise) {
  auto now = std::chrono::steady_clock::now();
  if (now - looked_up_ < std::chrono::milliseconds(50)) return;
  looked_up_ = now;
  try {
    supervise();
  } catch (const std::exception& e) {
    supervisor_failed_ = std::current_exception();
    fault_.raise({Errc::peer_failed, std::string("the supervisor of the run failed: ") + e.what()});
  }
}

// After a fault nothing happens any more, but every program leaves its wait.
void ModelEngine::wind_up() {
  winding_up_ = true;
  agenda_.clear();
  for (auto& p : places_)
    if (!p->program.ended()) wake_program(*p, 0);
}

// Known of it is what the first that waits waits for.
Error ModelEngine::nobody_can_go_on(const std::string& beginning) const {
  constexpr int most = 4;
  std::string text;
  Cause first;
  int parties = 0;
  auto add = [&](const std::string& who, const std::string& what) {
    if (parties++ < most) text += (text.empty() ? "" : "; ") + who + what;
  };
  for (auto& p : places_) {
    std::string who = "rank " + std::to_string(p->rank.id());
    if (p->program.ended())
      add(who, " has ended");
    else if (p->awaits_mail)
      add(who, " waits for " + p->waits_for());
    if (first.rank < 0 && p->awaits_mail && !p->program.ended()) first.rank = p->rank.id();
    if (!p->replaying) continue;
    for (auto& wait : p->replaying->waits()) {
      add(who, " waits for " + wait.what);
      if (first.rank < 0) first = wait.cause;
    }
  }
  if (parties > most) text += "; and " + std::to_string(parties - most) + " more";
  return {Errc::peer_failed, beginning + text, first};
}

void ModelEngine::align_clocks() {
  double latest = 0;
  for (auto& p : places_) latest = std::max(latest, p->clock);
  for (auto& p : places_) p->clock = latest;
}

void ModelEngine::wake_queue(Who queue, double time) {
  if (auto* program = places_[rank_of(queue)]->replaying) program->wake(lane_of(queue), time);
}

// Stops the program until somebody wakes it.
void ModelEngine::block(Place& place) {
  if (fault_.raised()) throw PeerFailed(fault_.error());
  place.program.suspend();
  if (fault_.raised()) throw PeerFailed(fault_.error());
}

// --- what programs ask for between and around recordings --------------------------------------------------------------------

void ModelEngine::start(Place& place, ModelProgram& program, int max) {
  if (fault_.raised()) throw PeerFailed(fault_.error());
  place.replaying = &program;
  program.begin(max, place.clock);
}

// A test takes time, or a program that tests again and again would let nobody else act.
bool ModelEngine::test(Place& place) {
  constexpr double shortest = 1e-7;
  constexpr int most_idle = 100'000;
  const ModelProgram& program = *place.replaying;
  auto has_ended = [&] { return program.is_over() && (program.ended_at() <= place.clock || !agenda_.in_time_order()); };
  if (!has_ended()) {
    if (!program.is_over() && ++idle_tests_ > most_idle)
      throw nobody_can_go_on("no rank can go on, and replays are only tested: ");
    place.tests_replay = true;
    let_host_tasks_run(place);
    place.clock += std::max(shortest, options_.machine.host_overhead_s);
    place.woken = true;
    agenda_.add_behind(who(place.rank.id(), program_lane), place.clock);
    block(place);
    place.tests_replay = false;
    place.clock = std::max(place.clock, place.processor_busy_until);
  }
  return has_ended();
}

Outcome ModelEngine::wait(Place& place) {
  ModelProgram& program = *place.replaying;
  place.awaits_replay = true;
  let_host_tasks_run(place);
  while (!program.is_over()) block(place);
  place.awaits_replay = false;
  place.replaying = nullptr;
  place.rank.ledger.time += program.ended_at() - program.began_at();
  place.clock = std::max(place.clock, program.ended_at());
  program.end();
  return program.outcome();
}

void ModelEngine::let_host_tasks_run(Place& place) {
  place.attends_since = place.clock;
  if (place.replaying) place.replaying->processor_is_free(place.clock);
}

void ModelEngine::barrier(Rank& rank) {
  Place& here = place(rank);
  if (fault_.raised()) throw PeerFailed(fault_.error());
  if (++inside_barrier_ == size()) {
    inside_barrier_ = 0;
    barriers_++;
    align_clocks();
    for (auto& p : places_)
      if (p.get() != &here) wake_program(*p, p->clock);
    return;
  }
  u64 this_one = barriers_;
  wait_for_mail(
      rank,
      [&] {
        if (barriers_ == this_one) attend(here);
        return barriers_ != this_one;
      },
      [] { return std::string("all ranks to reach a recording"); });
}

double ModelEngine::deliver_at(Place& from, int to, double bytes, double time) {
  const Machine& m = options_.machine;
  bool near = m.same_node(from.rank.id(), to);
  double& free = near ? from.link_free : from.network_free;
  free = std::max(time, free) + bytes / (near ? m.link_bandwidth : m.internode_bandwidth);
  return free + (near ? m.link_latency_s : m.internode_latency_s) + from.noise.delay();
}

// --- host data --------------------------------------------------------------------------------------------------------------

void ModelEngine::post(Rank& from, int to, i64 tag, std::vector<std::byte> data) {
  Place& here = place(from);
  here.clock += options_.machine.host_overhead_s;
  double at = deliver_at(here, to, double(data.size()), here.clock);
  put_in_transit(from.id(), to, tag, std::move(data), at);
}

void ModelEngine::post_by_adapter(Rank& from, int to, i64 tag, std::vector<std::byte> data) {
  const Machine& m = options_.machine;
  if (!m.same_node(from.id(), to)) return post(from, to, tag, std::move(data));
  Place& here = place(from);
  here.clock += m.host_overhead_s;
  double bandwidth = m.internode_bandwidth > 0 ? m.internode_bandwidth : m.link_bandwidth;
  here.network_free = std::max(here.clock, here.network_free) + double(data.size()) / bandwidth;
  put_in_transit(from.id(), to, tag, std::move(data), here.network_free + m.loopback_latency_s + here.noise.delay());
}

void ModelEngine::put_in_transit(int from, int to, i64 tag, std::vector<std::byte> data, double at) {
  Place& there = *places_[to];
  if (options_.machine.jitter_s > 0) {  // a late letter holds up those behind it
    double& last = there.last_from.try_emplace(from, never).first->second;
    last = at = std::max(last, at);
  }
  there.in_transit.push_back({tag, {from, std::move(data), at}, there.posted++});
  std::push_heap(there.in_transit.begin(), there.in_transit.end());
  agenda_.add(who(to, mail_lane), at);
}

// While a device replays, its program's processor is free to look after what comes, if it only waits, and unless a host task
// keeps it busy.
void ModelEngine::deliver_letter(Place& place) {
  std::pop_heap(place.in_transit.begin(), place.in_transit.end());
  double at = place.in_transit.back().letter.at;
  place.mail.add(place.in_transit.back().tag, std::move(place.in_transit.back().letter));
  place.in_transit.pop_back();
  place.delivered++;
  bool busy = place.replaying && agenda_.in_time_order() && at < place.processor_busy_until;
  if (busy && place.attends())
    attend_offloaded(place);
  else if (place.awaits_replay)
    attend(place);
  else if (place.awaits_mail && !place.woken)
    go_on(place);
}

void ModelEngine::leave_host_task(Place& place) {
  if (!place.replaying || !place.attends()) return;  // a program that looks by itself
  place.clock = std::max(place.clock, place.processor_busy_until);
  if (place.awaits_replay)
    attend(place);
  else if (place.awaits_mail && !place.woken)
    go_on(place);
}

void ModelEngine::attend(Place& place) {
  if (Attendant* a = attendant(place.rank.id())) a->advance();
}

void ModelEngine::attend_offloaded(Place& place) {
  if (Attendant* a = attendant(place.rank.id())) a->advance_offloaded();
}

// Others that are earlier on the clock go first: what they send may be here by now.
std::optional<Letter> ModelEngine::try_take(Rank& at, int from, i64 tag) {
  Place& here = place(at);
  if (!at.is_inside_replay() && agenda_.in_time_order() && !agenda_.may_go_on(here.clock)) {
    wake_program(here, here.clock);
    block(here);
  }
  auto letter = here.mail.take(tag, from);
  if (letter) here.clock = std::max(here.clock, letter->at);
  return letter;
}

void ModelEngine::wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) {
  Place& here = place(at);
  if (fault_.raised()) throw PeerFailed(fault_.error());
  for (;;) {
    u64 seen = here.delivered;
    if (ready()) return;
    if (here.delivered != seen) continue;  // others had their turn while it looked
    if (at.is_inside_replay()) throw Error(Errc::unsupported, "the model cannot wait for " + what() + " inside a recording");
    here.waits_for = what;
    here.awaits_mail = true;
    let_host_tasks_run(here);
    block(here);
    here.awaits_mail = false;
    here.clock = std::max(here.clock, here.processor_busy_until);
  }
}

std::vector<std::byte> ModelEngine::take(Rank& at, int from, i64 tag) {
  std::optional<Letter> letter;
  wait_for_mail(
      at, [&] { return (letter = try_take(at, from, tag)).has_value(); },
      [&] { return "data of rank " + std::to_string(from); });
  return std::move(letter->data);
}

RankRange ModelEngine::node_of(int rank) const {
  int node = options_.machine.ranks_per_node;
  if (node == 0) return {0, size()};
  int first = rank / node * node;
  return {first, std::min(first + node, size())};
}

void ModelEngine::book_leading(Rank& rank, int others) { place(rank).clock += options_.machine.leader_skew_s * others; }

}  // namespace sordino::model
