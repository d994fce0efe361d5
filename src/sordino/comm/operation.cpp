#include "sordino/comm/operation.hpp"

#include <cstring>

#include "sordino/comm/desk.hpp"

namespace sordino {

Operation::Operation(Rank& rank, int channel, const Signature& signature, Combine combine)
    : rank_(rank),
      desk_(Desk::of(rank)),
      channel_(channel),
      number_(desk_.next_number(channel)),
      tag_(Desk::tag(channel, number_)),
      signature_(signature),
      combine_(combine) {}

Operation::~Operation() { desk_.leave(*this); }

void Operation::start(Schedule schedule) {
  desk_.enter(*this, [&] {
    schedule_ = std::move(schedule);
    run(schedule_.handle());
    advance();
  });
}

bool Operation::test() {
  desk_.look();
  return done();
}

void Operation::wait() {
  desk_.wait([this] { return done(); }, [this] { return awaited(); });
  if (error_) std::rethrow_exception(error_);
}

// The signature goes first: 40 bytes that turn a wrong result, or a wait for ever, into a sentence.
void Operation::send(int to, const Bytes& data) {
  Bytes message(sizeof signature_ + data.size());
  std::memcpy(message.data(), &signature_, sizeof signature_);
  if (!data.empty()) std::memcpy(message.data() + sizeof signature_, data.data(), data.size());
  if (signature_.options.by_adapter)
    engine().post_by_adapter(rank_, to, tag_, std::move(message));
  else
    engine().post(rank_, to, tag_, std::move(message));
}

void Operation::fold(Bytes& lower, const Bytes& higher) const {
  if (lower.size() != higher.size())
    bad_argument("ranks reduce different numbers of values: rank " + std::to_string(rank()) + " has met parts of " +
                 std::to_string(lower.size() / std::size_t(signature_.type.bytes)) + " and of " +
                 std::to_string(higher.size() / std::size_t(signature_.type.bytes)) + " in " + describe(signature_));
  if (!lower.empty()) combine_(signature_.fold, lower.data(), higher.data(), lower.size() / std::size_t(signature_.type.bytes));
}

void Operation::suspend(std::coroutine_handle<> here, int from, std::function<bool()> ready) {
  suspended_ = here;
  awaited_ = from;
  ready_ = std::move(ready);
}

void Operation::run(std::coroutine_handle<> from_here) {
  from_here.resume();
  if (!schedule_.ended()) return;
  error_ = schedule_.error();
  if (!error_) desk_.remember(channel_, number_, signature_);
  end();
}

void Operation::advance() {
  if (done()) return;
  try {
    while (auto letter = engine().try_take(rank_, -1, tag_)) open(std::move(*letter));
    while (!done() && may_go_on()) run(std::exchange(suspended_, nullptr));
  } catch (...) {
    error_ = std::current_exception();
    end();
  }
}

bool Operation::may_go_on() { return awaited_ < 0 ? ready_() : inbox_.contains(awaited_); }

void Operation::open(Letter letter) {
  Signature theirs = Desk::signature_in(letter);
  if (theirs != signature_) bad_argument(disagreement(rank(), signature_, letter.from, theirs, number_, channel_));
  letter.data.erase(letter.data.begin(), letter.data.begin() + sizeof theirs);
  inbox_.emplace(letter.from, std::move(letter.data));
}

Bytes Operation::received(int from) {
  auto first = inbox_.find(from);  // of this rank
  Bytes data = std::move(first->second);
  inbox_.erase(first);
  return data;
}

std::string Operation::place() const {
  return "collective " + std::to_string(number_) + " of channel " + std::to_string(channel_);
}

std::string Operation::what_is_missing() const {
  return desk_.locked([this] { return awaited(); });
}

std::string Operation::awaited() const {
  std::string of = describe(signature_) + ", " + place();
  return awaited_ < 0 ? of : "rank " + std::to_string(awaited_) + "'s part of " + of;
}

}  // namespace sordino
