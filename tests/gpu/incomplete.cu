// The command of incomplete factors on GPUs: the bits of a host with as many ranks, in every way that a command reaches a
// device, whatever the thread blocks; and waits that end. Solves with it are in test_incomplete.py.
//
//   compute-sanitizer --tool memcheck build/make/tests/sordino_gpu "incomplete factors on GPUs"
//   compute-sanitizer --tool initcheck build/make/tests/sordino_gpu "incomplete factors on GPUs"
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "support.hpp"
#include "unit/trsv/incomplete_cases.hpp"

using namespace sordino;
using incomplete_cases::by_command;
using incomplete_cases::Factors;
using trsv::Incomplete;
using trsv::IncompleteDevice;

namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

const char* name_of(Incomplete kind) { return kind == Incomplete::ic0 ? "ic0" : "ilu0"; }

/// r = M^-1 r, so many times in one loop, with another command between.
std::vector<double> by_loop(Engine& engine, const CsrMatrix& A, Incomplete kind, const std::vector<double>& r, int times) {
  std::vector<double> result(r.size());
  engine.run([&](Rank& rank) {
    trsv::IncompleteOperator M(rank, A.view(), rank.add_space(incomplete_cases::rows_of(A.n, rank, rank.size())), kind);
    const Vec from = M.operand(rank, "r"), to = M.result(rank, "z");
    const i64 first = rank.space(M.space()).first_row;
    rank.write(from, r.data() + first);
    Recorded loop = rank.loop({}, [&] {
      M.apply(rank, from, to);
      rank.copy(to, from);
    });
    M.factorize(rank, A.view());
    for (int done = 0; done < times; done += times / 2) rank.replay(loop, times / 2);
    rank.read(from, result.data() + first);
  });
  return result;
}

/// One rank's z = M^-1 r by kernels of so many thread blocks, after others of r2.
std::vector<double> by_blocks(const CsrMatrix& A, Incomplete kind, const std::vector<double>& r, int blocks) {
  std::vector<double> z(r.size());
  const Factors f(A, kind);
  auto gpu = test::cuda_engine(1);
  gpu->run([&](Rank& rank) {
    const int space = rank.add_space(incomplete_cases::rows_of(A.n, rank, 1));
    IncompleteDevice device(rank, f.pattern(), kind, rank.add_space(equal_parts(1, 0, 1)), blocks);
    device.fill(rank, f.values.data(), f.inverse_pivots.data());
    const Vec x = rank.vector("x", space);
    rank.write(x, r.data());
    Recorded in_place = rank.record([&] { rank.device(device.task(x, x)); });
    for (int k = 0; k < 3; k++) {
      rank.write(x, r.data());
      rank.replay(in_place);
    }
    rank.read(x, z.data());
  });
  return z;
}

/// A rank's factor whose last row waits for itself.
struct Stuck {
  explicit Stuck(i64 n, bool dense)
      : f(dense ? incomplete_cases::dense_last_row(n) : incomplete_cases::chain(n), Incomplete::ic0) {
    f.diagonal.back()++;
  }
  void apply(Rank& rank) const {
    const i64 n = i64(f.diagonal.size());
    const int space = rank.add_space(incomplete_cases::rows_of(n * rank.size(), rank, rank.size()));
    IncompleteDevice device(rank, f.pattern(), Incomplete::ic0, rank.add_space(equal_parts(1, rank.id(), rank.size())));
    device.fill(rank, f.values.data(), f.inverse_pivots.data());
    const Vec x = rank.vector("x", space);
    Recorded r = rank.record([&] { rank.device(device.task(x, x)); });
    rank.replay(r);
  }
  Factors f;
};

/// What a run that is to fail says, within so many seconds.
std::string failure(Engine& engine, double within, const std::function<void(Rank&)>& job) {
  const auto begin = std::chrono::steady_clock::now();
  std::string cause = "no failure";
  try {
    engine.run(job);
  } catch (const Error& e) {
    cause = e.what();
  }
  CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < within);
  return cause;
}

}  // namespace

TEST("incomplete factors on GPUs: the bits of as many ranks of a host, again and again, with values before and after") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(81);
  for (const incomplete_cases::Case& c : incomplete_cases::all(random))
    for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0})
      for (int ranks : {1, 2, 4}) {
        if (ranks > c.A.n) continue;
        NOTE(c.name, ", ", c.A.n, " rows, ", name_of(kind), ", ", ranks, " ranks");
        const std::vector<double> r = random.normals(c.A.n);
        auto host = test::host_engine(ranks);
        auto gpu = test::cuda_engine(ranks);
        CHECK(same_bits(by_command(*gpu, c.A, kind, r, 7), by_command(*host, c.A, kind, r)));
      }
}

TEST("incomplete factors on GPUs: loops of many iterations, in graphs, WHILE graphs and launches") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(82);
  const CsrMatrix A = incomplete_cases::grid(random, 12, 11, 13, 1);
  const std::vector<double> r = random.normals(A.n);
  for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0})
    for (int ranks : {1, 2, 4}) {
      auto host = test::host_engine(ranks);
      const std::vector<double> wanted = by_loop(*host, A, kind, r, 90);
      for (cuda::Looping looping : {cuda::Looping::automatic, cuda::Looping::launches, cuda::Looping::while_graph}) {
        NOTE(name_of(kind), ", ", ranks, " ranks, looping ", int(looping));
        cuda::Options o;
        o.looping = looping;
        o.chunk = 7;
        auto gpu = test::cuda_engine(ranks, o);
        CHECK(same_bits(by_loop(*gpu, A, kind, r, 90), wanted));
      }
    }
}

TEST("incomplete factors on GPUs: few thread blocks, and more than there is room for, in place") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(83);
  for (const incomplete_cases::Case& c : incomplete_cases::all(random))
    for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0})
      for (int blocks : {1, 2, 7, 5000}) {
        NOTE(c.name, ", ", c.A.n, " rows, ", name_of(kind), ", ", blocks, " blocks");
        const std::vector<double> r = random.normals(c.A.n);
        CHECK(same_bits(by_blocks(c.A, kind, r, blocks), incomplete_cases::on_host(c.A, kind, r)));
      }
}

TEST("incomplete factors on GPUs: a larger grid, and a chain in which every row waits for the one before it") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(84);
  for (const CsrMatrix& A : {incomplete_cases::grid(random, 61, 60, 59, 1), incomplete_cases::grid(random, 30, 31, 32),
                             incomplete_cases::chain(50000)})
    for (Incomplete kind : {Incomplete::ic0, Incomplete::ilu0}) {
      NOTE(A.n, " rows, ", name_of(kind));
      const std::vector<double> r = random.normals(A.n);
      auto gpu = test::cuda_engine(1);
      CHECK(same_bits(by_command(*gpu, A, kind, r, 10), incomplete_cases::on_host(A, kind, r)));
    }
}

TEST("incomplete factors on GPUs: NaN and infinity are numbers that are there") {
  test::need_gpu();
  const CsrMatrix A = incomplete_cases::chain(100);
  std::vector<double> r(100, 1.0);
  const u64 all_bits = ~u64(0);
  std::memcpy(&r[50], &all_bits, sizeof(double));  // the NaN that stands for a number that is not there yet
  r[70] = std::numeric_limits<double>::infinity();
  for (double x : by_blocks(A, Incomplete::ic0, r, 2)) CHECK(std::isnan(x));
}

TEST("incomplete factors on GPUs: their memory is booked, and given back") {
  test::need_gpu();
  fresh::Random random(85);
  const CsrMatrix A = incomplete_cases::grid(random, 9, 8, 7);
  const Factors f(A, Incomplete::ilu0);
  auto gpu = test::cuda_engine(1);
  gpu->run([&](Rank& rank) {
    const int one_row = rank.add_space(equal_parts(1, 0, 1));
    const i64 before = gpu->bytes_held(0), told = IncompleteDevice::bytes_of(f.pattern(), Incomplete::ilu0);
    i64 held = 0;
    {
      IncompleteDevice device(rank, f.pattern(), Incomplete::ilu0, one_row);
      held = gpu->bytes_held(0) - before;
    }
    CHECK(held >= told);
    CHECK(held <= told + 256);  // a vector of one row is as long as its alignment
    CHECK(gpu->bytes_held(0) - before <= 256);
  });
}

TEST("incomplete factors on GPUs: a row that nobody computes is waited for as long as the engine's timeout, and said") {
  test::need_gpu();
  for (bool dense : {false, true})
    for (int ranks = 1; ranks <= std::min(2, test::gpus()); ranks++) {
      NOTE(ranks, dense ? " ranks, a long row" : " ranks, a short row");
      cuda::Options o;
      o.timeout = 0.5;
      auto gpu = test::cuda_engine(ranks, o);
      const Stuck stuck(300, dense);
      const std::string cause = failure(*gpu, 10, [&](Rank& rank) { stuck.apply(rank); });
      NOTE(cause);
      CHECK(cause.find("command Incomplete factor") != std::string::npos);
      CHECK(cause.find("waited 0.5 s without any progress for a block of its own command") != std::string::npos);
    }
}

TEST("incomplete factors on GPUs: who waits for a row ends when another rank fails") {
  test::need_gpu();
  if (test::gpus() < 2) SKIP("two ranks with a GPU each need 2 GPUs, and here are ", test::gpus());
  cuda::Options o;
  o.timeout = 60.5;
  auto gpu = test::cuda_engine(2, o);
  const Stuck stuck(300, false);
  const std::string cause = failure(*gpu, 20, [&](Rank& rank) {
    if (rank.id() == 0) return stuck.apply(rank);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    throw Error(Errc::bad_argument, "rank 1 wants no more");
  });
  CHECK(cause.find("rank 1 wants no more") != std::string::npos);
}
