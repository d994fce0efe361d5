#include "sordino/comm/desk.hpp"

#include <cstring>
#include <type_traits>

namespace sordino {

Desk& Desk::of(Rank& rank) {
  Engine& engine = rank.engine();
  int local = rank.id() - engine.first_rank();
  if (!engine.attendant(local)) engine.set_attendant(local, std::make_unique<Desk>(rank));
  return static_cast<Desk&>(*engine.attendant(local));
}

Signature Desk::signature_in(const Letter& letter) {
  static_assert(std::is_trivially_copyable_v<Signature>);
  Signature s;
  std::memcpy(&s, letter.data.data(), sizeof s);
  return s;
}

void Desk::advance() {
  if (!busy()) return;
  std::lock_guard lock(mutex_);
  go_on();
}

void Desk::advance_offloaded() {
  std::lock_guard lock(mutex_);
  for (Operation* o : operations_)
    if (o->signature().options.by_adapter) o->advance();
}

void Desk::go_on() {
  for (Operation* o : operations_) o->advance();
  fetch_parcels();
  count();
}

void Desk::fetch_parcels() {
  for (auto q = expected_.begin(); q != expected_.end();) {
    auto& [from, tag] = q->first;
    auto& parcels = q->second;
    while (!parcels.empty()) {
      auto letter = rank_.engine().try_take(rank_, from, tag);
      if (!letter) break;
      open(parcels.front(), std::move(*letter));
      parcels.pop_front();
    }
    q = parcels.empty() ? expected_.erase(q) : std::next(q);
  }
}

void Desk::open(const Expected& expected, Letter letter) {
  Parcel& parcel = *expected.parcel;
  parcel.data = std::move(letter.data);
  try {
    if (expected.open) expected.open(parcel.data);
  } catch (...) {
    parcel.error = not_opened_ = std::current_exception();
  }
  parcel.here.store(true, std::memory_order_release);
}

void Desk::wait(const std::function<bool()>& done, const std::function<std::string()>& what) {
  advance();
  auto ready = [&] {
    std::lock_guard lock(mutex_);
    go_on();
    if (done()) return true;
    throw_if_failed();
    look_for_strays();
    return false;
  };
  auto what_is_missing = [&] {
    std::lock_guard lock(mutex_);
    return what();
  };
  if (!done()) rank_.engine().wait_for_mail(rank_, ready, what_is_missing);
  std::lock_guard lock(mutex_);
  look_for_strays();  // a rank's letters come in their order: with its last one, all that it meant for an earlier collective
}

void Desk::enter(Operation& operation, const std::function<void()>& start) {
  std::lock_guard lock(mutex_);
  operations_.push_back(&operation);
  count();
  start();
}

void Desk::leave(Operation& operation) {
  std::lock_guard lock(mutex_);
  std::erase(operations_, &operation);
  count();
}

void Desk::throw_if_failed() const {
  if (not_opened_) std::rethrow_exception(not_opened_);
  for (const Operation* o : operations_)
    if (o->error()) std::rethrow_exception(o->error());
}

void Desk::remember(int channel, u32 number, const Signature& signature) {
  constexpr std::size_t few = 4;
  ended_.push_back({channel, number, signature});
  if (ended_.size() > few) ended_.pop_front();
}

void Desk::look_for_strays() {
  for (auto& e : ended_)
    if (auto stray = rank_.engine().try_take(rank_, -1, tag(e.channel, e.number)))
      bad_argument(disagreement(rank_.id(), e.signature, stray->from, signature_in(*stray), e.number, e.channel));
}

std::shared_ptr<Parcel> Desk::expect(int from, int tag, Open open) {
  auto parcel = std::make_shared<Parcel>();
  std::lock_guard lock(mutex_);
  expected_[{from, tag}].push_back({parcel, std::move(open)});
  count();
  return parcel;
}

void Desk::wait(Parcel& parcel, const std::function<std::string()>& what) {
  wait([&] { return parcel.here.load(std::memory_order_acquire); }, what);
  if (!parcel.error) return;
  locked([this] { not_opened_ = nullptr; });
  std::rethrow_exception(parcel.error);
}

}  // namespace sordino
