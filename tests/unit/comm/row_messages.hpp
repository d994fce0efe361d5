// Rows of vectors between two ranks, outside of recordings: what every engine must do, and what it refuses.
#pragma once
#include <numeric>
#include <string>
#include <vector>

#include "check.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/runtime/row_port.hpp"

namespace row_messages {

using namespace sordino;
using Values = std::vector<double>;

inline constexpr i32 rows = 301;

struct Grow {
  InOut v;
  SORDINO_HD void row(i32 i) { v[i] += 1; }
};
using Kernels = KernelList<Kernel<Grow>>;

inline Values words_of(int rank, i32 count = rows) {
  Values v(std::size_t(count), 0.0);
  std::iota(v.begin(), v.end(), 1e6 * (rank + 1));
  return v;
}
inline Values plus(Values v, double more) {
  for (double& x : v) x += more;
  return v;
}
/// `into` with a part of `from` in it.
inline Values with(Values into, i32 at, const Values& from, i32 first, i32 count) {
  std::copy_n(from.begin() + first, count, into.begin() + at);
  return into;
}

/// Vectors of a rank, and its neighbours in a ring.
struct Ring {
  explicit Ring(Rank& rank)
      : s(rank),
        space(s.add_space(equal_parts(rows, s.id(), s.size()))),
        a(s.vector("a", space)),
        b(s.vector("b", space)),
        next((s.id() + 1) % s.size()),
        before((s.id() + s.size() - 1) % s.size()) {
    s.write(a, words_of(s.id()).data());
  }
  Values read(Vec v) const {
    Values all(rows);
    s.read(v, all.data());
    return all;
  }
  Rank& s;
  int space;
  Vec a, b;
  int next, before;
};

/// Any number of rows from any row to any other, and no others; to the rank itself where it is alone.
inline void go_round(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  struct Part {
    i32 first, count, at;
  };
  for (Part p : {Part{0, 0, 0},
                 {rows, 0, 5},
                 {0, 1, rows - 1},
                 {rows - 1, 1, 0},
                 {1, 1, 2},
                 {3, 7, 200},
                 {1, rows - 1, 0},
                 {0, rows - 1, 1},
                 {0, rows, 0}}) {
    NOTE(p.count, " rows from ", p.first, " to ", p.at);
    const Values old(rows, -1.0);
    s.write(ring.b, old.data());
    auto coming = c.start_receive(ring.before, {ring.b, p.at, p.count});
    c.send(ring.next, {ring.a, p.first, p.count});
    coming.get();
    CHECK(ring.read(ring.b) == with(old, p.at, words_of(ring.before), p.first, p.count));
    CHECK(ring.read(ring.a) == words_of(s.id()));
  }
}

/// Messages go to receives in the order of a channel, whichever is finished first, beside host data of the same channels.
inline void go_in_order(Rank& s) {
  constexpr int messages = 12;
  Ring ring(s);
  Communicator even(s, 20), odd(s, 21);
  auto channel = [&](int k) -> Communicator& { return k % 2 ? odd : even; };
  auto place = [](int k) { return i32(25 * k + k % 3); };
  Values expected(rows, 0.0);
  std::vector<Pending<void>> sends, receives;
  for (int k = 0; k < messages; k++) {
    sends.push_back(channel(k).start_send(ring.next, {ring.a, place(k), k}));
    channel(k).send(ring.next, std::vector<int>{k});
  }
  for (int k = 0; k < messages; k++) {
    i32 at = place(messages - 1 - k);
    receives.push_back(channel(k).start_receive(ring.before, {ring.b, at, k}));
    expected = with(expected, at, words_of(ring.before), place(k), k);
  }
  for (int k = messages - 1; k >= 0; k--) receives[std::size_t(k)].get();
  for (auto& p : sends) p.get();
  for (int k = 0; k < messages; k++) CHECK(channel(k).receive<int>(ring.before) == std::vector<int>{k});
  CHECK(ring.read(ring.b) == expected);
}

/// Whichever end is started and finished first.
inline void go_to_itself(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  const OwnRows from{ring.a, 3, 100}, to{ring.a, 150, 100};
  const Values expected = with(words_of(s.id()), 150, words_of(s.id()), 3, 100);
  {
    auto coming = c.start_receive(s.id(), to);
    auto going = c.start_send(s.id(), from);
    coming.get();
    going.get();
    CHECK(ring.read(ring.a) == expected);
  }
  s.write(ring.a, words_of(s.id()).data());
  auto going = c.start_send(s.id(), from);
  auto coming = c.start_receive(s.id(), to);
  going.get();
  coming.get();
  CHECK(ring.read(ring.a) == expected);
}

/// What a command wrote is sent, what was received is read by the next one, and rows may change once they are sent.
inline void go_between_commands(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  Recorded grow_a = s.record([&] { s.run(Grow{ring.a}); });
  Recorded grow_b = s.record([&] { s.run(Grow{ring.b}); });
  for (int t = 1; t <= 5; t++) {
    NOTE("step ", t);
    s.replay(grow_a);
    auto coming = c.start_receive(ring.before, {ring.b, 0, rows});
    c.send(ring.next, {ring.a, 0, rows});
    s.replay(grow_a);
    coming.get();
    s.replay(grow_b);
    CHECK(ring.read(ring.b) == plus(words_of(ring.before), 2 * t));
  }
}

/// Commands that use other vectors go on meanwhile.
inline void go_beside_a_replay(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  Vec other = s.vector("other", ring.space);
  Recorded grow = s.loop({}, [&] { s.run(Grow{other}); });
  s.replay(grow, 1);  // compiling is collective
  auto coming = c.start_receive(ring.before, {ring.b, 1, 200});
  auto going = c.start_send(ring.next, {ring.a, 2, 200});
  Replay beside = s.start(grow, 50);
  going.get();
  coming.get();
  beside.wait();
  CHECK(ring.read(ring.b) == with(Values(rows, 0.0), 1, words_of(ring.before), 2, 200));
  CHECK(ring.read(other) == Values(rows, 51.0));
}

/// Rows of memory that the caller keeps, on GPUs the host's.
inline void go_into_memory_of_callers(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  Values mine = words_of(s.id()), theirs(rows, 0.0);
  Vec from = s.wrap("from", ring.space, mine.data()), to = s.wrap("to", ring.space, theirs.data());
  auto coming = c.start_receive(ring.before, {to, 1, 250});
  c.send(ring.next, {from, 7, 250});
  coming.get();
  CHECK(theirs == with(Values(rows, 0.0), 1, words_of(ring.before), 7, 250));
}

/// What is refused on a rank leaves it as it was.
inline void refuse(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  auto refused = [&](const char* sentence, OwnRows rows, bool receives = false) {
    CHECK_THROWS(receives ? c.start_receive(ring.before, rows) : c.start_send(ring.next, rows), Error, sentence);
  };
  refused("rows are sent: 2 rows from row 300 of 'a', which has 301", {ring.a, 300, 2});
  refused("rows are sent: 1 rows from row -1 of 'a', which has 301", {ring.a, -1, 1});
  refused("rows are received: -1 rows from row 0 of 'b'", {ring.b, 0, -1}, true);
  refused("rows are received: 2147483647 rows from row 1 of 'b'", {ring.b, 1, 2147483647}, true);
  refused("rows are sent of a vector that this rank does not have", {Vec{99}, 0, 1});
  CHECK_THROWS(c.start_send(s.size(), {ring.a, 0, 1}), Error, "there is no rank");
  CHECK_THROWS(c.start_receive(-1, {ring.a, 0, 1}), Error, "there is no rank -1");

  s.permit(ring.a, Permission::write_only);
  s.permit(ring.b, Permission::read_only);
  refused("'a' may only be written, and sends rows", {ring.a, 0, 1});
  refused("'b' may only be read, and receives rows", {ring.b, 0, 1}, true);
  for (Vec v : {ring.a, ring.b}) s.permit(v, Permission::read_write);

  Recorded grow_a = s.record([&] {
    s.run(Grow{ring.a});
    refused("rows are sent while commands are recorded", {ring.a, 0, 1});
  });
  Recorded task = s.record([&] {
    s.host({.name = "task", .uses = {{ring.a, Access::read}}, .run = [&](const HostView&) {
              refused("rows are sent by a host task", {ring.a, 0, 1});
            }});
  });
  s.replay(task);
  {
    Replay replay = s.start(grow_a);
    refused("rows are received while a replay is under way on this rank: wait() for it first", {ring.b, 0, 1}, true);
    replay.wait();
  }

  auto coming = c.start_receive(ring.before, {ring.b, 10, 20});
  auto going = c.start_send(ring.next, {ring.a, 10, 20});
  refused("rows are received: 1 rows from row 29 of 'b', while 20 rows from row 10 of it are still received", {ring.b, 29, 1},
          true);
  refused("rows are sent: 5 rows from row 6 of 'b', while 20 rows", {ring.b, 6, 5});
  refused("rows are received: 1 rows from row 10 of 'a', while 20 rows from row 10 of it are still sent", {ring.a, 10, 1},
          true);
  Values all(rows);
  CHECK_THROWS(s.read(ring.b, all.data()), Error, "a vector is read, 'b', rows of which are still received: finish that first");
  CHECK_THROWS(s.write(ring.a, all.data()), Error, "a vector is written, 'a', rows of which are still sent");
  CHECK_THROWS(s.fetch(ring.b), Error, "a vector is fetched, 'b', rows of which are still received");
  CHECK_THROWS((void)s.start(grow_a), Error, "a replay is started that uses a vector, 'a', rows of which are still sent");
  CHECK_THROWS(s.reset_names(), Error, "names are reset, and that of a vector, '");
  auto again = c.start_send(ring.next, {ring.a, 15, 20});  // two sends may read the same rows
  auto more = c.start_receive(ring.before, {ring.b, 30, 20});
  for (auto* p : {&coming, &going, &more, &again}) p->get();
  CHECK(ring.read(ring.b) ==
        with(with(Values(rows, 0.0), 10, plus(words_of(ring.before), 1), 10, 20), 30, plus(words_of(ring.before), 1), 15, 20));
}

/// What is booked for a message to the next rank.
inline void book(Rank& s) {
  Ring ring(s);
  Communicator c(s, 20);
  Ledger before = s.ledger;
  for (i32 count : {0, 5}) {
    auto coming = c.start_receive(ring.before, {ring.b, 0, count});
    c.send(ring.next, {ring.a, 0, count});
    coming.get();
  }
  Ledger booked = difference(s.ledger, before);
  CHECK(booked.messages == 2);
  CHECK(booked.bytes_sent == 40);
  CHECK(booked.carried[std::size_t(s.engine().row_port().carrier(s.id(), ring.next))] == MessageCount{2, 40});
}

inline void all(Engine& engine) {
  for (auto* job :
       {go_round, go_in_order, go_to_itself, go_between_commands, go_beside_a_replay, go_into_memory_of_callers, refuse, book})
    engine.run(job, {});
}

}  // namespace row_messages
