// Commands of every form on the cuda engine, beside the host engine.
#include <cstring>
#include <mutex>

#include "forms.hpp"
#include "support.hpp"

using namespace sordino;
using namespace test;

namespace {

struct Result {
  std::vector<std::vector<double>> values;  // [rank] whatever the program hands over
  std::vector<Ledger> ledger;
  std::vector<Outcome> outcome;
};

using Job = std::function<Outcome(Rank&, std::vector<double>&)>;

Result run(Engine& engine, const Job& job) {
  int n = engine.size();
  Result r{std::vector<std::vector<double>>(n), std::vector<Ledger>(n), std::vector<Outcome>(n)};
  engine.run(
      [&](Rank& rank) {
        r.outcome[rank.id()] = job(rank, r.values[rank.id()]);
        r.ledger[rank.id()] = rank.ledger;
        r.values[rank.id()].insert(r.values[rank.id()].end(), rank.history.begin(), rank.history.end());
      },
      {});
  return r;
}

void compare(const Result& gpu, const Result& host) {
  for (std::size_t r = 0; r < host.values.size(); r++) {
    NOTE("rank ", r);
    CHECK(gpu.outcome[r].iterations == host.outcome[r].iterations);
    CHECK(gpu.outcome[r].verdict == host.outcome[r].verdict);
    CHECK_NEAR(distance(gpu.values[r], host.values[r]), 0.0, 1e-11);
    CHECK(gpu.ledger[r].same_counts(host.ledger[r]));
  }
}

// Paced by the host, and, where several ranks fit beside each other, waiting on the device.
void on_all_engines(const Job& job, const std::vector<int>& rank_counts = {1, 2, 3, 4}) {
  need_gpu();
  for (int ranks : rank_counts) {
    auto host = host_engine(ranks);
    Result b = run(*host, job);
    for (bool spin : {false, true}) {
      NOTE("ranks = ", ranks, spin ? ", spinning" : "");
      auto gpu = cuda_engine(ranks, spin ? spinning() : cuda::Options{});
      compare(run(*gpu, job), b);
    }
  }
}

}  // namespace

TEST("forms: two halos in one command, rotated vectors and scalars, predicated commands") {
  for (bool scattered : {false, true})
    on_all_engines([=](Rank& rank, std::vector<double>& out) { return blend(rank, out, scattered, 25, -1e300, 3); });
}

TEST("forms: an exit test that met its limit; a cycle longer than a chunk") {
  on_all_engines([](Rank& rank, std::vector<double>& out) { return blend(rank, out, true, 200, 50, 3); }, {1, 3});
  on_all_engines([](Rank& rank, std::vector<double>& out) { return blend(rank, out, false, 150, -1e300, 37); }, {1, 2});
}

TEST("forms: two queues run one after the other") {
  on_all_engines([](Rank& rank, std::vector<double>& out) { return blend(rank, out, true, 25, -1e300, 2, true); }, {1, 2});
}

TEST("forms: a reduction finished and started again by one command, carried over the loop's end") {
  on_all_engines([](Rank& rank, std::vector<double>& out) {
    Ring ring(rank.id(), rank.size(), 777, false);
    int space = rank.add_space(ring.space);
    Vec e = rank.vector("e", space);
    Scal s = rank.scalar("s");
    std::vector<double> seed = ring.seed_values();
    rank.write(e, seed.data());
    Recorded begin = rank.record([&] { rank.dots(dot(e, e) >> s); });
    Recorded loop = rank.loop({}, [&] { rank.run(Carry{Get(finish(s)), e}, start(s)); });
    Outcome o;
    for (int k = 0; k < 5; k++) {
      rank.replay(begin);
      o = rank.replay(loop, 30 + k);
      out.push_back(rank.get(s));
    }
    append(rank, e, ring.n, out);
    return o;
  });
}

namespace {
template <int Lanes>
Outcome many(Rank& rank, std::vector<double>& out) {
  Ring ring(rank.id(), rank.size(), 613, true);
  Arrays arrays(rank);
  int space = rank.add_space(ring.space);
  Vec x = rank.vector("x", space, &ring.exchange), y = rank.vector("y", space);
  Scal xy = rank.scalar("xy"), yy = rank.scalar("yy");
  std::vector<i32> begin{0}, column;
  std::vector<double> value;
  for (i32 i = 0; i < ring.n; i++) {
    for (i32 k = 0; k < i % 41; k++) {
      column.push_back(ring.right[i] >= ring.n ? ring.n + (ring.right[i] - ring.n + k) % ring.exchange.ghosts
                                               : (i * 5 + k * 11) % ring.n);
      value.push_back(1.0 / (1 + k));
    }
    begin.push_back(i32(column.size()));
  }
  ManyRows<Lanes> rows{arrays.put(begin), arrays.put(column), arrays.put(value), x, y};
  std::vector<double> seed = ring.seed_values();
  rank.write(x, seed.data());
  Recorded r = rank.record([&] {
    rank.run(Nothing{}, push(x));
    rank.apply_rows(rows, &ring.exchange.consumer, y, start(dot(y, x) >> xy, dot(y, y) >> yy));
    rank.wait(xy);
  });
  Outcome o;
  for (int k = 0; k < 3; k++) o = rank.replay(r);
  append(rank, y, ring.n, out);
  for (Scal s : {xy, yy}) out.push_back(rank.get(s));
  return o;
}
}  // namespace

TEST("forms: several threads a row, short ranges, rows sent that no command computes") {
  on_all_engines(many<4>);
  on_all_engines(many<32>);
}

TEST("forms: slices of a replicated vector are gathered, its sums stay local") {
  auto job = [](Rank& rank, std::vector<double>& out) {
    i32 n = 2000;
    Space whole;
    whole.n_global = n;
    whole.rows = n;
    whole.replicated = true;
    set_tiles(whole, {0, n});
    Exchange all;
    all.everybody = true;
    auto cut = [&](int r) { return i32(i64(n) * r / rank.size()); };
    RowRange mine{cut(rank.id()), cut(rank.id() + 1)};
    for (int p = 0; p < rank.size(); p++)
      if (p != rank.id())
        all.peers.push_back({.rank = p,
                             .recv_first = cut(p),
                             .recv_count = cut(p + 1) - cut(p),
                             .send_count = mine.size(),
                             .send_rows = {},
                             .send_first = mine.begin,
                             .remote_first = mine.begin,
                             .remote_index = rank.id() < p ? rank.id() : rank.id() - 1});
    all.producer.first = {mine};
    all.consumer.rest = {{0, n}};
    int space = rank.add_space(whole);
    Vec x = rank.vector("x", space), y = rank.vector("y", space, &all);
    Scal s = rank.scalar("s");
    std::vector<double> seed(n);
    for (i32 i = 0; i < n; i++) seed[i] = i % 17;
    rank.write(x, seed.data());
    // The next slice of y is sent after every rank has begun to read the last one: a gather orders it, as long as two take
    // turns.
    Vec y2 = rank.vector("y2", space, &all);
    Rotation rotation;
    rotation.vectors = {{y, y2}};
    Split split{{mine}, {}};
    Recorded loop = rank.loop(rotation, [&] {
      rank.run_split(Slice{x, y, n}, split, push(y));
      rank.run(Everywhere{y, x}, start(s));
      rank.exit_if(Below{Get(finish(s)), -1e300});
      rank.run(Nothing{});
    });
    Outcome o = rank.replay(loop, 33);
    append(rank, x, n, out);
    out.push_back(rank.get(s));
    return o;
  };
  on_all_engines(job);
}

TEST("forms: a functor that nobody enabled is named") {
  need_gpu();
  auto gpu = cuda_engine(1);
  CHECK_THROWS(gpu->run(
                   [](Rank& rank) {
                     Ring ring(0, 1, 100, false);
                     int space = rank.add_space(ring.space);
                     Vec e = rank.vector("e", space);
                     Recorded r = rank.record([&] { rank.run(NeverEnabled{e}); });
                     rank.replay(r);
                   },
                   {}),
               Error, "NeverEnabled");
}

TEST("forms: a scalar read before it has a value is an error, as on the host") {
  need_gpu();
  auto gpu = cuda_engine(1);
  CHECK_THROWS(gpu->run(
                   [](Rank& rank) {
                     Scal a = rank.scalar("a"), b = rank.scalar("b", 1), c = rank.scalar("c");
                     Recorded r = rank.record([&] { rank.run(Keep{a, b, c}); });
                     rank.replay(r);
                   },
                   {}),
               Error, "'a' is read before it has a value");
}

TEST("forms: too little memory is said in bytes, and the engine goes on") {
  need_gpu();
  auto gpu = cuda_engine(1);
  std::string said;
  gpu->run(
      [&](Rank& rank) {
        try {
          gpu->allocate_bytes(rank, std::size_t(1) << 45);
        } catch (const Error& e) {
          said = e.what();
        }
        void* p = gpu->allocate_bytes(rank, 1000);
        gpu->release_bytes(rank, p, 1000);
      },
      {});
  CHECK(said.find("35184372088832 bytes needed") != std::string::npos);
  CHECK(said.find("available") != std::string::npos);
}
