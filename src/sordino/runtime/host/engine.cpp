#include "sordino/runtime/host/engine.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>

#include "sordino/runtime/cause_record.hpp"
#include "sordino/runtime/host/helper.hpp"
#include "sordino/runtime/host/rows.hpp"
#include "sordino/runtime/host/wait.inl"

namespace sordino::host {

HostEngine::HostEngine(const Options& options, std::unique_ptr<Transport> transport)
    : options_(options), transport_(std::move(transport)), size_(options.ranks), first_(0), memory_(options.ranks) {
  if (transport_) {
    auto& ranks = transport_->ranks_of_processes();
    size_ = 0;
    for (int p = 0; p < transport_->processes(); p++) {
      if (p == transport_->process()) first_ = size_;
      size_ += ranks[p];
    }
  }
  // Where there are more threads than cores a spinning one keeps another from working.
  spins_ = options_.ranks + int(options_.progress_thread) > int(std::thread::hardware_concurrency()) ? 50 : 4000;
  for (int i = 0; i < options_.ranks; i++) ranks_.push_back(std::make_unique<Rank>(*this, first_ + i));
  rows_ = std::make_unique<HostRows>(*this);
  team_ = std::make_unique<ThreadTeam>(options_.ranks);
  if (!options_.progress_thread) return;
  helper_ = std::make_unique<Helper>(*this);
  helper_->start();
}

HostEngine::~HostEngine() {
  if (helper_) helper_->stop();
  if (!team_->stuck()) return;
  // A rank that never came back may still touch its memory: let it keep it.
  for (auto& r : ranks_) r.release();
  new std::vector<Memory>(std::move(memory_));
}

// Orders of magnitude: a letter wakes a thread; a sum's own parts are flags, or messages. What host data costs does not depend
// on the layout, so that what is chosen by it, and its bits, do not.
Machine HostEngine::described() const {
  Machine m;
  m.put_overhead_s = m.host_overhead_s = 3e-6;
  m.link_latency_s = m.internode_latency_s = 3e-6;
  m.ranks_per_node = transport_ ? options_.ranks : 0;
  m.reduction_base_s = (size_ - 1) * (transport_ ? 1e-6 : 0.5e-6) + m.link_latency_s;
  return m;
}

int HostEngine::process_of(int rank) const {
  int p = 0, first = 0;
  auto& ranks = transport_->ranks_of_processes();
  while (rank >= first + ranks[p]) first += ranks[p++];
  return p;
}

void HostEngine::run(const std::function<void(Rank&)>& job, const std::function<void()>& supervise) {
  if (fault_.raised() && !reported_) report_fault();  // heard of between two runs
  if (fault_.raised()) throw failed_before(fault_.error());
  auto guarded = [&](int i) {
    Rank& r = *ranks_[i];
    try {
      r.run_job(job);
    } catch (const PeerFailed&) {
    } catch (...) {
      raise(caught("rank " + std::to_string(r.id()) + ": ", {.rank = r.id()}));
    }
    r.leave_job();
    memory_[i].waiting = true;
  };
  for (auto& m : memory_) m.waiting = false;
  std::exception_ptr supervisor_failed;
  auto tick = [&] {
    try {
      if (supervise && !supervisor_failed) supervise();
    } catch (const std::exception& e) {
      supervisor_failed = std::current_exception();
      raise({Errc::peer_failed, std::string("the supervisor of the run failed: ") + e.what()});
    }
    if (transport_) {
      poll();
      tell_of_progress();
      if (fault_.raised()) settle_cause();
    }
    return fault_.raised() ? 2.0 : -1.0;  // after a fault every wait ends; a rank stuck elsewhere is left behind
  };
  team_->run(guarded, tick);
  if (transport_ && !fault_.raised()) end_together([&] { tick(); });
  if (fault_.raised()) report_fault(supervisor_failed);
}

void HostEngine::report_fault(const std::exception_ptr& supervisor_failed) {
  reported_ = true;
  if (transport_) {
    while (!settle_cause()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::lock_guard lock(mutex_);
    fault_.agree_on(*agreed_);
  }
  if (supervisor_failed) std::rethrow_exception(supervisor_failed);
  throw fault_.error();
}

void HostEngine::raise(const Error& error) {
  if (!fault_.raise(error)) return;
  for (auto& m : memory_) m.bell.ring();
  if (transport_) tell_of_fault();
}

void HostEngine::fail_as_peers() { throw PeerFailed(fault_.error()); }

u64 HostEngine::all_heartbeats() const { return arrivals_.load(std::memory_order_relaxed) + own_heartbeats(); }

u64 HostEngine::own_heartbeats() const {
  u64 sum = 0;
  for (auto& m : memory_) sum += m.heartbeat.load(std::memory_order_relaxed);
  return sum;
}

void HostEngine::patience_lost(Rank& rank, const Awaited& awaited) {
  std::string who;
  for (int i = 0; i < options_.ranks; i++)
    if (!memory_[i].waiting.load(std::memory_order_relaxed))
      who += (who.empty() ? "; still busy: rank " : ", ") + std::to_string(first_ + i);
  std::ostringstream seconds;
  seconds << options_.timeout;
  throw Error(Errc::peer_failed,
              "waited " + seconds.str() + " s without any progress for " + awaited.what + who + " (rank " +
                  std::to_string(rank.id()) + " gave up)",
              {.rank = rank.id(), .expected = awaited.expected, .seen = awaited.seen});
}

// Ranks of other processes that wait for these must know that they go on, though they have nothing to send yet; a process whose
// ranks have ended must know that this one lives.
void HostEngine::tell_of_progress() {
  double now = seconds_now(), pause = options_.timeout > 0 ? std::min(1.0, options_.timeout / 4) : 1.0;
  if (now - told_.at < pause) return;
  u64 beats = own_heartbeats();
  tell_all({.kind = Message::beat, .from = first_, .place = beats != told_.beats});
  told_ = {beats, now};
}

// --- messages of other processes -------------------------------------------------------------------------------------------

void HostEngine::send(const Message& header, const void* data, std::size_t bytes) {
  transport_->send(process_of(header.to), header, data, bytes);
}

void HostEngine::look(Rank& rank) {
  if (fault_.raised()) fail_as_peers();
  if (transport_) poll();
  rank.go_on();
}

int HostEngine::poll() {
  return transport_->poll([this](const Message& m, const std::byte* data, std::size_t bytes) { deliver(m, data, bytes); });
}

void HostEngine::deliver(const Message& m, const std::byte* data, std::size_t bytes) {
  if (m.kind != Message::beat || m.place) arrivals_.fetch_add(1, std::memory_order_relaxed);
  if (m.kind == Message::beat || m.kind == Message::ended) {
    std::lock_guard lock(mutex_);
    Neighbour& other = others_[m.from];
    other.seen = seconds_now();
    if (m.kind == Message::ended) other.ended = m.slot;
    return;
  }
  if (m.kind == Message::fault) return hear_of_fault(m, error_in(Errc(m.slot), data, bytes));
  if (m.kind == Message::barrier) {
    std::lock_guard lock(barrier_.mutex);
    barrier_.others[m.flag]++;
    return;
  }
  Memory& to = memory(m.to);
  if (m.kind == Message::host_data) return put_into_mail(m.to, m.slot, {m.from, {data, data + bytes}});
  std::unique_lock lock(mutex_);
  if (m.kind == Message::halo) {
    double* rows = to.vectors[std::size_t(m.slot)].get();
    Flag& flag = to.arrivals[std::size_t(m.slot)][m.peer];
    lock.unlock();
    std::memcpy(rows + m.place, data, bytes);
    signal(flag, m.flag, m.to);
  } else {
    Gather& g = *to.gathers[std::size_t(m.slot)];
    lock.unlock();
    int parity = m.flag >> 1 & 1;
    std::memcpy(g.sums[parity].data() + m.place, data, bytes);
    signal(g.flags[parity * size_ + m.from], m.flag, m.to);
  }
}

// All local ranks enter; the last one tells the other processes; everybody leaves when all processes have said so.
void HostEngine::barrier(Rank& rank) {
  u64 round;
  bool last;
  {
    std::lock_guard lock(barrier_.mutex);
    round = barrier_.round;
    last = ++barrier_.inside == options_.ranks;
    if (last) {
      barrier_.inside = 0;
      barrier_.round++;
      barrier_.others.erase(u32(round) - 1);  // all ranks have left the round before
    }
  }
  if (last) {
    for (int p = 0; transport_ && p < transport_->processes();
         p++)  // not under the mutex: who polls holds the transport, and wants it
      if (p != transport_->process()) transport_->send(p, {.kind = Message::barrier, .flag = u32(round)}, nullptr, 0);
    for (auto& m : memory_) m.bell.ring();
  }
  int needed = transport_ ? transport_->processes() - 1 : 0;
  auto open = [&] {
    std::lock_guard lock(barrier_.mutex);
    if (barrier_.round == round) return false;
    return needed == 0 || barrier_.others[u32(round)] >= needed;
  };
  wait(rank, open, [] { return std::string("all ranks to reach a recording"); });
  memory(rank.id()).heartbeat.fetch_add(1, std::memory_order_relaxed);
}

void HostEngine::post(Rank& from, int to, i64 tag, std::vector<std::byte> data) {
  if (!is_local(to)) {
    if (helper_) helper_->ring();  // an answer may come
    send({.kind = Message::host_data, .slot = tag, .from = from.id(), .to = to}, data.data(), data.size());
    return;
  }
  put_into_mail(to, tag, {from.id(), std::move(data)});
}

void HostEngine::put_into_mail(int to, i64 tag, Letter letter) {
  Memory& there = memory(to);
  {
    std::lock_guard lock(there.mail_mutex);
    there.mail.add(tag, std::move(letter));
  }
  there.letters.fetch_add(1, std::memory_order_release);
  there.bell.ring();
  if (helper_) helper_->ring();
}

std::vector<std::byte> HostEngine::take(Rank& at, int from, i64 tag) {
  std::optional<Letter> letter;
  wait_for_mail(
      at, [&] { return (letter = try_take(at, from, tag)).has_value(); },
      [&] { return "data of rank " + std::to_string(from); });
  return std::move(letter->data);
}

std::optional<Letter> HostEngine::try_take(Rank& at, int from, i64 tag) {
  Memory& mine = memory(at.id());
  std::unique_lock lock(mine.mail_mutex);
  auto letter = mine.mail.take(tag, from);
  lock.unlock();
  if (letter) mine.heartbeat.fetch_add(1, std::memory_order_relaxed);
  return letter;
}

// The wait may ask once more after it was told yes; what was found must not be lost. Looking takes the lock that a sender
// needs: within one process it waits until a letter has come.
void HostEngine::wait_for_mail(Rank& at, const std::function<bool()>& ready, const std::function<std::string()>& what) {
  const auto& letters = memory(at.id()).letters;
  u64 looked_at = ~u64(0);
  bool is_ready = false;
  auto look = [&] {
    u64 came = letters.load(std::memory_order_acquire);
    if (!is_ready && (transport_ || came != looked_at)) is_ready = ready();
    looked_at = came;
    return is_ready;
  };
  wait(at, look, what);
}

RankRange HostEngine::node_of(int rank) const {
  if (!transport_) return {0, size_};
  auto& ranks = transport_->ranks_of_processes();
  RankRange process{0, ranks[0]};
  for (std::size_t p = 1; rank >= process.end; p++) process = {process.end, process.end + ranks[p]};
  return process;
}

}  // namespace sordino::host
