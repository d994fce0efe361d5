// Recorded programs that say how much of a communication is hidden: each with and without its messages, and with as many rows
// of other work as is asked for. They know no device; numbers are whole, and what must come out is known to the last bit.
#pragma once
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "sordino/comm/vector_sum.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino::overlap {

// --- functors ----------------------------------------------------------------------------------------------------------------

/// x = y + 1. Where x is pushed, the rows that others wait for come first.
struct Advance {
  In y;
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = y[i] + 1; }
};

/// y = the mean of x in the lines below and above: y = x where x grows evenly. Lines without a neighbour keep their values.
/// Each row takes `polish` multiplications and additions more, which change nothing.
template <class X>
struct Smooth {
  X x;
  Out y;
  i32 line, rows;    // of a line, of this slab
  i32 below, above;  // where the ghost lines begin; -1: there is none
  i32 polish = 0;
  double one = 1, nothing = 0;
  SORDINO_HD void row(i32 i) {
    i32 south = i >= line ? i - line : below < 0 ? -1 : below + i;
    i32 north = i + line < rows ? i + line : above < 0 ? -1 : above + i + line - rows;
    double mean = south < 0 || north < 0 ? x[i] : 0.5 * (x[south] + x[north]);
    for (i32 k = 0; k < polish; k++) mean = mean * one + nothing;
    y[i] = mean;
  }
  Cost cost() const { return {0, 2.0 * polish * rows}; }
};

/// y = the mean of x in the lines below and above, and one: x + 1 where x grows evenly. The first rows of the command send x's
/// lowest and highest line, which the ranks below and above have as ghosts of what is sent; behind them come those of y.
template <class S, class A>
struct SendAndSmooth {
  S sent;     // two lines, the lowest first
  A arrived;  // of the ranks below and above, if they are
  Foreign<const double, Access::read> x;
  Foreign<double, Access::write> y;
  i32 line, rows;    // of a line, of this slab
  i32 below, above;  // where their lines begin; -1: there is none
  SORDINO_HD void row(i32 i) {
    if (i < 2 * line)
      send(i);
    else
      smooth(i - 2 * line);
  }
  SORDINO_HD void send(i32 j) const {
    double own = x[j < line ? j : rows - 2 * line + j];
    if constexpr (requires { sent.n_segments; })
      sent.store(j, own);
    else
      sent[j] = own;
  }
  SORDINO_HD void smooth(i32 i) const {
    double mean = x[i];
    bool inner_south = i >= line, inner_north = i + line < rows;
    if ((inner_south || below >= 0) && (inner_north || above >= 0)) {
      double south = inner_south ? x[i - line] : arrived[below + i];
      double north = inner_north ? x[i + line] : arrived[above + i + line - rows];
      mean = 0.5 * (south + north);
    }
    y[i] = mean + 1;
  }
  Cost cost() const { return {32.0 * line + 16.0 * rows, 3.0 * rows}; }
};

/// Work that needs nobody.
struct Count {
  static constexpr bool collects = true;  // what the command before it has started (runtime/cuda/collect.cuh)
  InOut w;
  SORDINO_HD void row(i32 i) { w[i] += 1; }
};

/// e goes half way to the mean of all e, and one further: e + 1 where all are alike. The mean is made of four sums.
struct Average {
  Get a, b, c, d;
  InOut e;
  double count;  // rows of all ranks
  double mean = 0;
  SORDINO_HD void head() { mean = (a + b + c + d) / (8 * count); }
  SORDINO_HD Sums<4> row(i32 i) {
    double v = 0.5 * (e[i] + mean) + 1;
    e[i] = v;
    return {{v, v, 2 * v, 4 * v}};
  }
};
struct FirstSums {
  In e;
  SORDINO_HD Sums<4> row(i32 i) { return {{e[i], e[i], 2 * e[i], 4 * e[i]}}; }
};

/// The own piece, x = y + 1, and behind it rows of work that needs nobody.
template <class X>
struct Contribute {
  X x;
  Foreign<const double, Access::read> y;
  Foreign<double, Access::update> w;
  i32 piece, work;
  SORDINO_HD void row(i32 i) {
    if (i >= piece)
      w[i - piece] += 1;
    else if constexpr (requires { x.n_segments; })
      x.store(i, y[i] + 1);
    else
      x[i] = y[i] + 1;
  }
  Cost cost() const { return {16.0 * (piece + work), 1.0 * (piece + work)}; }
};
/// y = own x + other (the sum of the others' pieces, which lie behind the own one).
template <class X>
struct Collect {
  X x;
  Out y;
  i32 piece, others;
  double own, other;
  SORDINO_HD void row(i32 i) {
    double sum = 0;
    for (i32 q = 1; q <= others; q++) sum += x[q * piece + i];
    y[i] = own * x[i] + other * sum;
  }
  Cost cost() const { return {8.0 * piece * (others + 1), 1.0 * piece * (others + 2)}; }
};

/// y = the mean of all ranks' vectors.
struct Mean {
  Whole sum;
  Foreign<double, Access::write> y;
  int ranks;
  SORDINO_HD void row(i32 i) { y[i] = sum[i] / ranks; }
};
/// Who knows the sum knows that all ranks have got so far.
struct Tell {
  In one;
  SORDINO_HD Sums<1> row(i32 i) { return {{one[i]}}; }
};

using Here = Foreign<double, Access::write>;  // instead of a vector that others are sent
using Held = Foreign<const double, Access::read>;
using Arrived = Foreign<const double, Access::arrived>;
using Kernels = KernelList<Kernel<SendAndSmooth<Sent<double>, Arrived>>, Kernel<SendAndSmooth<Here, Held>>, Kernel<Advance>,
                           Kernel<Smooth<Ghost>>, Kernel<Smooth<In>>, Kernel<Count>, Kernel<Average>, Kernel<FirstSums>,
                           Kernel<Contribute<Sent<double>>>, Kernel<Contribute<Here>>, Kernel<Collect<Ghost>>,
                           Kernel<Collect<Held>>, Kernel<Mean>, Kernel<Tell>, Kernel<FoldSegments>>;

// --- running -----------------------------------------------------------------------------------------------------------------

/// Times a loop: `replays` times all ranks begin together; a sample is a replay's time over its iterations. One more, ahead of
/// them, does not count.
struct Stopwatch {
  int replays, iterations;
  std::vector<std::vector<double>> seconds;  // [rank][replay], of an iteration, by the engine's clock
  std::vector<double> exposed;               // [rank] seconds of an iteration that were waited for others

  Stopwatch(int ranks, int replays, int iterations)
      : replays(replays), iterations(iterations), seconds(std::size_t(ranks)), exposed(std::size_t(ranks)) {}
  i64 all_iterations() const { return i64(replays + 1) * iterations; }

  void time(Rank& s, Recorded& loop, const std::function<void()>& begin = {}) {
    auto id = std::size_t(s.id());
    for (int n = 0; n <= replays; n++) {
      if (begin) begin();
      s.engine().barrier(s);
      double waited = s.ledger.exposed_halo + s.ledger.exposed_reduction, since = s.engine().now(s);
      s.replay(loop, iterations);
      if (n == 0) continue;
      seconds[id].push_back((s.engine().now(s) - since) / iterations);
      exposed[id] += (s.ledger.exposed_halo + s.ledger.exposed_reduction - waited) / (double(replays) * iterations);
    }
  }
};

inline void require_values(Rank& s, Vec v, i32 rows, double first, double step, const char* program) {
  if (!s.engine().arithmetic() || rows == 0) return;
  std::vector<double> found(std::size_t(rows), 0.0);
  s.read(v, found.data());
  for (i32 i = 0; i < rows; i++)
    if (double wanted = first + step * i; found[std::size_t(i)] != wanted)
      throw Error(Errc::device, std::string(program) + ": row " + std::to_string(i) + " is " +
                                    std::to_string(found[std::size_t(i)]) + ", not " + std::to_string(wanted));
}

inline Vec filled(Rank& s, const char* name, int space, i32 rows, double first, double step,
                  const Exchange* exchange = nullptr) {
  Vec v = s.vector(name, space, exchange);
  std::vector<double> values(std::size_t(rows), 0.0);
  for (i32 i = 0; i < rows; i++) values[std::size_t(i)] = first + step * i;
  if (s.engine().arithmetic() && rows > 0) s.write(v, values.data());
  return v;
}

/// What is asked of a program.
struct Shape {
  bool sends = true;  // false: the same commands, and nothing leaves a rank
  i32 words = 0;      // of a message; of a piece
  i32 work = 0;       // rows
  i32 polish = 0;     // multiplications and additions for each row of a halo's work
};

// --- programs ----------------------------------------------------------------------------------------------------------------

/// Of a slab of `rows`, two lines at least, between the slabs of the ranks below and above: each gets the line next to it, and
/// the ghosts are theirs, the one below first.
inline Exchange lines_of_neighbours(Rank& s, i32 line, i32 rows) {
  auto rows_from = [&](i32 first) {
    std::vector<i32> list(std::size_t(line), 0);
    std::iota(list.begin(), list.end(), first);
    return list;
  };
  bool below = s.id() > 0, above = s.id() + 1 < s.size();
  std::vector<Sending> to;
  std::vector<Receiving> from;
  Split split{{}, {}};
  if (below) to.push_back({s.id() - 1, rows_from(0)}), from.push_back({s.id() - 1, line}), split.first.push_back({0, line});
  if (above)
    to.push_back({s.id() + 1, rows_from(rows - line)}), from.push_back({s.id() + 1, line}),
        split.first.push_back({rows - line, rows});
  if (i32 first = below ? line : 0, last = above ? rows - line : rows; first < last) split.rest.push_back({first, last});
  Exchange lines = point_to_point(s, rows, to, from);
  lines.producer = split;
  lines.consumer = {split.rest, split.first};
  return lines;
}

/// A slab of `work` rows, two lines of `words` at least, between the slabs of the ranks below and above, which get the lines
/// next to them: sent ahead of the other rows of one command, awaited behind the inner rows of the next one.
inline void halo(Rank& s, const Shape& k, Stopwatch& watch) {
  const i32 line = k.words, rows = std::max(2 * line, k.work);
  bool below = k.sends && s.id() > 0, above = k.sends && s.id() + 1 < s.size();
  Exchange lines;
  if (k.sends) lines = lines_of_neighbours(s, line, rows);

  int space = s.add_space(equal_parts(rows, s.id(), s.size()));
  const Exchange* sent = k.sends ? &lines : nullptr;
  Vec x = s.vector("x", space, sent), spare = s.vector("spare", space, sent);
  double first = double(rows) * s.id();
  Vec y = filled(s, "y", space, rows, first, 1);
  i32 south = below ? rows : -1, north = above ? rows + (below ? line : 0) : -1;
  Recorded loop = s.loop({.vectors = {{x, spare}}}, [&] {
    if (k.sends) {
      s.run(Advance{y, x}, push(x));
      s.run(Smooth<Ghost>{x, y, line, rows, south, north, k.polish});
    } else {
      s.run(Advance{y, x});
      s.run(Smooth<In>{x, y, line, rows, south, north, k.polish});
    }
  });
  watch.time(s, loop);
  require_values(s, y, rows, first + double(watch.all_iterations()), 1, "a halo");
}

/// The same slabs, with one command an iteration that sends its lines before anything else, and waits for the others' behind
/// its inner rows.
inline void halo_in_one(Rank& s, const Shape& k, Stopwatch& watch) {
  const i32 line = k.words, rows = std::max(2 * line, k.work), faces = 2 * line;
  const bool below = k.sends && s.id() > 0, above = k.sends && s.id() + 1 < s.size();
  Exchange lines;
  if (k.sends) lines = lines_of_neighbours(s, line, faces);
  lines.producer = lines.consumer = {};
  auto space_of = [&](i32 own) { return s.add_space(equal_parts(own, s.id(), s.size())); };
  int slab = space_of(rows), ends = space_of(faces), all = space_of(faces + rows);
  const Exchange* sent = k.sends ? &lines : nullptr;
  Vec f = s.vector("lines", ends, sent), spare = s.vector("spare lines", ends, sent), y = s.vector("y", slab);
  const double first = double(rows) * s.id();
  Vec x = filled(s, "x", slab, rows, first, 1);
  Split split{{}, {}, {{0, faces}}};
  const i32 inner = faces + (below ? line : 0), outer = faces + rows - (above ? line : 0);
  if (below) split.rest.push_back({faces, inner});
  if (inner < outer) split.first.push_back({inner, outer});
  if (above) split.rest.push_back({outer, faces + rows});
  split.ahead_share = 2.0 * line / (2.0 * line + rows);
  const i32 south = below ? faces : -1, north = above ? faces + (below ? line : 0) : -1;
  Recorded loop = s.loop({.vectors = {{x, y}, {f, spare}}}, [&] {
    if (k.sends)
      s.run_split_over(all, SendAndSmooth<Sent<double>, Arrived>{f, f, x, y, line, rows, south, north}, split);
    else
      s.run_split_over(all, SendAndSmooth<Here, Held>{f, spare, x, y, line, rows, -1, -1}, split);
  });
  watch.time(s, loop);
  require_values(s, x, rows, first + double(watch.all_iterations()), 1, "a halo in one command");
}

/// Four sums over `words` rows of each rank, started in the tail of one command, and finished in the head of the same one in
/// the next iteration, behind a command of `work` rows. Without sending: no sums.
inline void reduction(Rank& s, const Shape& k, Stopwatch& watch) {
  int space = s.add_space(equal_parts(k.words, s.id(), s.size()));
  Vec e = s.vector("e", space), w{};
  if (k.work > 0) w = s.vector("w", s.add_space(equal_parts(k.work, s.id(), s.size())));
  Scal a = s.scalar("a"), b = s.scalar("b"), c = s.scalar("c"), d = s.scalar("d");
  Recorded begin;
  if (k.sends) begin = s.record([&] { s.run(FirstSums{e}, start(a, b, c, d)); });
  Recorded loop = s.loop({}, [&] {
    if (k.work > 0) s.run(Count{w});
    if (k.sends)
      s.run(Average{finish(a), finish(b), finish(c), finish(d), e, double(k.words) * s.size()}, start(a, b, c, d));
    else
      s.run(Count{e});
  });
  watch.time(s, loop, [&] {
    if (k.sends) s.replay(begin);
  });
  require_values(s, e, k.words, double(watch.all_iterations()), 0, "a reduction");
}

/// Every rank computes a piece of `words`, and reads those of all. `ahead`: the work is done by the rest of the command that
/// sends the piece; otherwise by a command of its own behind it.
inline void gather(Rank& s, const Shape& k, bool ahead, Stopwatch& watch) {
  const i32 piece = k.words, others = s.size() - 1, inside = ahead ? k.work : 0;
  Exchange pieces = all_gather_exchange(s, piece);
  auto space_of = [&](i32 rows) { return s.add_space(equal_parts(rows, s.id(), s.size())); };
  int own = space_of(piece), all = space_of(piece * s.size()), work = space_of(std::max(k.work, 1)),
      both = space_of(piece + inside);
  const Exchange* sent = k.sends ? &pieces : nullptr;
  Vec x = s.vector("x", k.sends ? own : all, sent), spare = s.vector("spare", k.sends ? own : all, sent);
  Vec y = filled(s, "y", own, piece, 0, 1), w = s.vector("w", work);
  double share = k.sends ? 0.25 : 0;
  Split split{.first = {}, .rest = {}, .ahead = {{0, piece}}};
  if (inside > 0) split.first = {{piece, piece + inside}};
  Recorded loop = s.loop({.vectors = {{x, spare}}}, [&] {
    if (k.sends)
      s.run_split_over(both, Contribute<Sent<double>>{x, y, w, piece, inside}, split);
    else
      s.run_split_over(both, Contribute<Here>{x, y, w, piece, inside}, split);
    if (k.work > inside) s.run(Count{w});
    if (k.sends)
      s.run(Collect<Ghost>{x, y, piece, others, 1 - share * others, share});
    else
      s.run(Collect<Held>{x, y, piece, others, 1, 0});
  });
  watch.time(s, loop);
  require_values(s, y, piece, double(watch.all_iterations()), 1, "an all-gather");
}

/// The sum over ranks of vectors of `words`, on all of them, each iteration of that of the one before. A reduction says
/// that all have read what came.
inline void vector_sum(Rank& s, const Shape& k, Stopwatch& watch) {
  VectorSum sum(s, k.words);
  Vec y = filled(s, "y", sum.operand_space(), k.words, 0, 1);
  Vec one = filled(s, "one", s.add_space(equal_parts(1, s.id(), s.size())), 1, 1, 0);
  Scal told = s.scalar("told");
  Recorded loop = s.loop({}, [&] {
    s.run(Advance{y, sum.operand()}, push(sum.operand()));
    sum.add(s);
    s.run_over(sum.result_space(), Mean{sum.result(), y, s.size()});
    s.run(Tell{one}, start(told));
    s.wait(told);
  });
  watch.time(s, loop);
  require_values(s, y, k.words, double(watch.all_iterations()), 1, "a sum of vectors");
}

}  // namespace sordino::overlap
