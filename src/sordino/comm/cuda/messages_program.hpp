// The loops by which `bench comm --what messages,broadcast` times messages as programs of the engine send them: a command
// computes a vector and pushes it, another rank's command reads it through a ghost field, and what it computes is the next
// message. What the kernels take that write and read the words is in these times. Nothing here knows a device; numbers are
// whole, and what must come out is known to the last bit, so that a message that is lost, late or twice the same one is
// noticed.
#pragma once
#include <numeric>

#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/comm/traffic.hpp"

namespace sordino::messages {

using overlap::Stopwatch;
using Heard = Foreign<const double, Access::ghost>;

// --- functors ----------------------------------------------------------------------------------------------------------------

/// said = heard + 1; what was heard begins at row `first` of its vector's storage.
struct Answer {
  Heard heard;
  Out said;
  i32 first, rows;
  SORDINO_HD void row(i32 i) { said[i] = heard[first + i] + 1; }
  Cost cost() const { return {16.0 * rows, 1.0 * rows}; }
};

/// total += heard: no message may be missed.
struct Add {
  Heard heard;
  InOut total;
  i32 rows;
  SORDINO_HD void row(i32 i) { total[i] += heard[i]; }
  Cost cost() const { return {24.0 * rows, 1.0 * rows}; }
};

/// x[i] = i + one more than the mean of what all ranks' Take has summed, over `all` rows.
struct Publish {
  Get sum;
  Out x;
  double all, round = 0;
  SORDINO_HD void head() { round = sum / all + 1; }
  SORDINO_HD void row(i32 i) { x[i] = i + round; }
};
struct Take {
  Heard x;
  Out y;
  i32 rows;
  SORDINO_HD Sums<1> row(i32 i) {
    double v = x[i];
    y[i] = v;
    return {{v - i}};
  }
  Cost cost() const { return {16.0 * rows, 2.0 * rows}; }
};

using Kernels =
    KernelList<Kernel<Answer>, Kernel<Add>, Kernel<Publish>, Kernel<Take>, Kernel<overlap::Advance>, Kernel<overlap::Count>>;

// --- between the first rank and the last one; those in between look on -------------------------------------------------------

/// Who sends `words` from its row 0 on to whom: the first rank to the last one, that one back, or both.
struct Between {
  bool forth, back;

  i32 rows(const Rank& s, i32 words) const { return (s.id() == 0 && forth) || (is_last(s) && back) ? words : 0; }
  Exchange exchange(Rank& s, i32 words) const {
    if (s.id() != 0 && !is_last(s)) return point_to_point(s, 0, {}, {});
    const int other = s.id() == 0 ? s.size() - 1 : 0;
    const i32 own = rows(s, words);
    std::vector<Sending> to;
    std::vector<Receiving> from;
    if (own > 0) {
      to.push_back({other, std::vector<i32>(std::size_t(own), 0)});
      std::iota(to[0].rows.begin(), to[0].rows.end(), 0);
    }
    if (s.id() == 0 ? back : forth) from.push_back({other, words});
    return point_to_point(s, own, to, from);
  }

 private:
  static bool is_last(const Rank& s) { return s.id() == s.size() - 1; }
};

inline int space_of(Rank& s, i32 rows) { return s.add_space(equal_parts(rows, s.id(), s.size())); }

/// A question and its answer, `words` long, each made of the other: two messages an iteration, one behind the other.
inline void ping_pong(Rank& s, i32 words, Stopwatch& watch) {
  constexpr Between forth{.forth = true, .back = false}, back{.forth = false, .back = true};
  const i32 asking = forth.rows(s, words), answering = back.rows(s, words);
  Exchange to = forth.exchange(s, words), fro = back.exchange(s, words);
  int here = space_of(s, asking), there = space_of(s, answering);
  Vec question = s.vector("question", here, &to), spare = s.vector("spare", here, &to);
  Vec answer = overlap::filled(s, "answer", there, answering, 0, 1, &fro), reply = s.vector("reply", there, &fro);
  Recorded begin = s.record([&] { s.run(overlap::Count{answer}, push(answer)); });
  Recorded loop = s.loop({.vectors = {{question, spare}, {reply, answer}}}, [&] {
    s.run(Answer{answer, question, 0, asking}, push(question));
    s.run(Answer{question, reply, 0, answering}, push(reply));
  });
  watch.time(s, loop, [&] { s.replay(begin); });
  double steps = double(watch.replays + 1) * (2.0 * watch.iterations + 1);
  overlap::require_values(s, answer, answering, steps, 1, "messages to and fro");
}

/// A message of `words` an iteration, one way, each made of the one before by who sends it: an empty one comes back, which says
/// that the last but one has been read.
inline void one_way(Rank& s, i32 words, Stopwatch& watch) {
  constexpr Between forth{.forth = true, .back = false}, back{.forth = false, .back = true};
  const i32 sending = forth.rows(s, words), hearing = back.rows(s, words);
  Exchange to = forth.exchange(s, words);
  int here = space_of(s, sending), there = space_of(s, hearing);
  Vec before = overlap::filled(s, "before", here, sending, 0, 1, &to), x = s.vector("x", here, &to);
  Vec total = s.vector("total", there);
  Recorded loop = s.loop({.vectors = {{x, before}}}, [&] {
    s.run(overlap::Advance{before, x}, push(x));
    s.run(Add{x, total, hearing});
  });
  watch.time(s, loop);
  double sent = double(watch.all_iterations());
  overlap::require_values(s, total, hearing, 0.5 * sent * (sent + 1), sent, "messages one way");
}

/// A message of `words` each way at the same time, an iteration; each is made of the other one's last.
inline void both_ways(Rank& s, i32 words, Stopwatch& watch) {
  constexpr Between both{.forth = true, .back = true};
  const i32 rows = both.rows(s, words);
  Exchange traded = both.exchange(s, words);
  int space = space_of(s, rows);
  const double mark = 0.5 * (s.id() > 0);  // the last rank's words
  Vec heard = overlap::filled(s, "heard", space, rows, mark, 1, &traded), said = s.vector("said", space, &traded);
  Recorded begin = s.record([&] { s.run(overlap::Count{heard}, push(heard)); });
  Recorded loop = s.loop({.vectors = {{said, heard}}}, [&] { s.run(Answer{heard, said, rows, rows}, push(said)); });
  watch.time(s, loop, [&] { s.replay(begin); });
  bool own = watch.all_iterations() % 2 == 0;  // else what the other one began with
  double steps = double(watch.replays + 1) * (watch.iterations + 1.0);
  overlap::require_values(s, heard, rows, steps + (own ? mark : 0.5 - mark), 1, "messages both ways");
}

// --- to all ------------------------------------------------------------------------------------------------------------------

/// A message of `words` of the first rank to all others, an iteration. A sum over what all have read says that they have, and
/// the next message is made of it.
inline void broadcast(Rank& s, i32 words, Stopwatch& watch) {
  const i32 sending = s.id() == 0 ? words : 0;
  Exchange to_all = broadcast_from(s, sending, words, 0);
  int root = space_of(s, sending), all = space_of(s, words);
  Vec x = overlap::filled(s, "x", root, sending, 0, 1, &to_all), y = s.vector("y", all);
  Scal sum = s.scalar("sum");
  Recorded begin = s.record([&] {
    s.run(overlap::Count{x}, push(x));
    s.run(Take{x, y, words}, start(sum));
  });
  Recorded loop = s.loop({}, [&] {
    s.run(Publish{finish(sum), x, double(words) * s.size()}, push(x));
    s.run(Take{x, y, words}, start(sum));
  });
  watch.time(s, loop, [&] { s.replay(begin); });
  // The first rank counts on from what it sent last.
  overlap::require_values(s, y, words, double(watch.replays + 1) * (watch.iterations + 1.0), 1, "a broadcast");
}

}  // namespace sordino::messages
