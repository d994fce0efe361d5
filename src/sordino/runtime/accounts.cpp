#include "sordino/runtime/accounts.hpp"

#include <algorithm>
#include <optional>

#include "sordino/base/error.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {
namespace {

constexpr i64 tag = i64(1) << 32;  // of accounts: above all channels (comm/desk.hpp)

class Author {
 public:
  Author(const Rank& rank, const Recording& recording) : rank_(rank), rec_(recording) {}

  Account write() const {
    Account a;
    a.entries.push_back(heading());
    for (std::size_t k = 0; k < rec_.commands.size(); k++) {
      auto met = meetings(rec_.commands[k]);
      if (!met.empty()) a.entries.push_back(entry(int(k), met));
    }
    a.entries.push_back({"end", me(), "records no more commands that send or wait"});
    return a;
  }

 private:
  std::string me() const { return "rank " + std::to_string(rank_.id()); }

  Account::Entry heading() const {
    std::string key = rec_.is_loop ? "loop" : "once",
                what = rec_.is_loop ? "records a loop" : "records commands without a loop";
    auto add = [&](auto& groups, auto& name_of) {
      for (auto& g : groups) {
        what += key.find(';') == std::string::npos ? ", in which these trade places: " : "; ";
        key += ';';
        for (std::size_t i = 0; i < g.size(); i++) {
          what += (i ? ", '" : "'") + name_of(g[i]) + "'";
          key += std::to_string(g[i]) + ',';
        }
      }
      key += '|';
    };
    auto vector = [&](int v) { return rank_.vectors()[std::size_t(v)].name; };
    auto scalar = [&](int s) { return rank_.scalar_names()[std::size_t(s)]; };
    add(rec_.rotate, vector);
    add(rec_.rotate_scalars, scalar);
    return {key, me(), what};
  }

  // In one order: which of its rows a command sends first, or waits for first, depends on the rows that a rank has.
  static std::vector<Phase> meetings(const Command& c) {
    std::vector<Phase> met;
    for (auto& p : c.phases)
      if (!verb(p.op).empty()) met.push_back(p);
    std::sort(met.begin(), met.end(),
              [](const Phase& a, const Phase& b) { return std::pair(a.op, a.slot) < std::pair(b.op, b.slot); });
    return met;
  }

  Account::Entry entry(int k, const std::vector<Phase>& met) const {
    const Command& c = rec_.commands[std::size_t(k)];
    std::string key = std::to_string(c.every) + (c.joins ? "+" : ""), what = "is '" + c.name + "', which ";
    for (std::size_t i = 0; i < met.size(); i++) {
      key += ';' + std::to_string(int(met[i].op)) + ',' + std::to_string(met[i].slot);
      what += (i == 0 ? "" : i + 1 == met.size() ? " and " : ", ") + verb(met[i].op) + object(met[i]);
    }
    if (c.every > 0) what += " once in " + std::to_string(c.every) + " iterations";
    return {key, "command " + std::to_string(k + 1) + " of " + me(), what};
  }

  static std::string verb(Op op) {
    switch (op) {
      case Op::finish: return "finishes the reduction into ";
      case Op::exit_test: return "may leave the loop";
      case Op::await: return "waits for ";
      case Op::put: return "sends ";
      case Op::start: return "starts the reduction into ";
      default: return "";
    }
  }

  std::string object(const Phase& p) const {
    if (p.op == Op::exit_test) return "";
    auto slot = std::size_t(p.slot);
    if (p.op == Op::await || p.op == Op::put) return "'" + rank_.vectors()[slot].name + "'";
    return "'" + rank_.scalar_names()[std::size_t(rank_.reductions()[slot].to[0])] + "'";
  }

  const Rank& rank_;
  const Recording& rec_;
};

// Strings one after the other, each behind its length.
std::vector<std::byte> packed(const Account& account) {
  std::string bytes;
  for (auto& e : account.entries)
    for (auto* s : {&e.key, &e.place, &e.what}) bytes += std::to_string(s->size()) + ' ' + *s;
  auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

Account unpacked(const std::vector<std::byte>& data) {
  std::string bytes(reinterpret_cast<const char*>(data.data()), data.size());
  Account account;
  std::size_t at = 0;
  auto next = [&] {
    std::size_t space = bytes.find(' ', at), size = std::stoul(bytes.substr(at, space - at));
    at = space + 1 + size;
    return bytes.substr(space + 1, size);
  };
  while (at < bytes.size()) {
    Account::Entry e;
    for (auto* s : {&e.key, &e.place, &e.what}) *s = next();
    account.entries.push_back(std::move(e));
  }
  return account;
}

}  // namespace

Account account_of(const Rank& rank, const Recording& recording) { return Author(rank, recording).write(); }

std::string difference(int a, const Account& of_a, int b, const Account& of_b) {
  if (b < a) return difference(b, of_b, a, of_a);
  // Neither is the beginning of the other: both have their end last.
  auto [p, q] = std::mismatch(of_a.entries.begin(), of_a.entries.end(), of_b.entries.begin(), of_b.entries.end());
  std::string same_words = p->what == q->what ? ", a name that was made in another order" : "";
  return "ranks " + std::to_string(a) + " and " + std::to_string(b) + " record different commands: " + p->place + " " +
         p->what + ", and " + q->place + " " + q->what + same_words + ": all ranks must record the same in the same order";
}

void Accounts::compare(Engine& engine, Rank& rank, Account mine) {
  int first = engine.first_rank(), end = first + engine.local_ranks();
  compare_here(engine, rank, mine);
  if (rank.id() + 1 == end && end < engine.size()) engine.post(rank, end, tag, packed(mine));
  if (rank.id() > first || first == 0) return;
  std::optional<Letter> letter;
  engine.wait_for_mail(
      rank, [&] { return (letter = engine.try_take(rank, first - 1, tag)).has_value(); },
      [&] { return "rank " + std::to_string(first - 1) + "'s account of its commands"; });
  Account theirs = unpacked(letter->data);
  if (theirs.entries != mine.entries) bad_argument(difference(first - 1, theirs, rank.id(), mine));
}

void Accounts::compare_here(Engine& engine, const Rank& rank, const Account& mine) {
  std::lock_guard lock(mutex_);
  next_.resize(std::size_t(engine.local_ranks()));
  u64 round = next_[std::size_t(rank.id() - engine.first_rank())]++ - over_;
  if (round == rounds_.size()) rounds_.push_back({rank.id(), mine, engine.local_ranks()});
  Round& r = rounds_[std::size_t(round)];
  if (r.account.entries != mine.entries) bad_argument(difference(r.rank, r.account, rank.id(), mine));
  r.missing--;
  while (!rounds_.empty() && rounds_.front().missing == 0) {
    rounds_.pop_front();
    over_++;
  }
}

}  // namespace sordino
