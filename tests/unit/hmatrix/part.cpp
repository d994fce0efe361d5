// What each of several processes builds of an H-matrix: the bits of a whole build where its ranks multiply, and nothing else.
#include <atomic>
#include <cmath>
#include <cstring>
#include <set>

#include "check.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/hmatrix/block_jacobi.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/hmatrix/host_product.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/hmatrix/host_leaves.hpp"
#include "unit/hmatrix/thread_processes.hpp"
#include "unit/linalg/products.hpp"

using namespace sordino::hmatrix;
using thread_processes::Place;

namespace {

constexpr Distribution all_ways[] = {Distribution::rows, Distribution::leaves, Distribution::grid};

template <class V>
using Parts = std::vector<std::unique_ptr<HMatrixOf<V>>>;

BuildPart part_at(Place& place, int process, Ranks ranks) {
  ranks.process = process;
  ranks.processes = place.count;
  return {ranks, [&place, process](double) { return std::make_unique<thread_processes::Threads>(place, process); }};
}

/// As processes build it, each with a thread.
template <class V>
Parts<V> built(const GeneratorOf<V>& generator, const BuildOptions& options, int processes, const Ranks& ranks) {
  Place place(processes);
  Parts<V> parts(static_cast<std::size_t>(processes));
  auto build = [&](int p) {
    parts[std::size_t(p)] = std::make_unique<HMatrixOf<V>>(generator, options, part_at(place, p, ranks));
  };
  for (const auto& thrown : thread_processes::run(processes, build))
    if (thrown) std::rethrow_exception(thrown);
  return parts;
}

template <class V>
bool same_values(const LeafOf<V>& a, const LeafOf<V>& b) {
  return a.rank == b.rank && std::memcmp(a.u, b.u, std::size_t(a.entries()) * sizeof(V)) == 0;
}

bool on_diagonal(const Block& b) { return b.rows.begin == b.columns.begin; }

bool same_statistics(const Statistics& a, const Statistics& b) {
  auto of = [](const Statistics& s) {
    return std::tuple(s.clusters, s.low_rank_blocks, s.dense_blocks, s.nodes, s.stored_values, s.low_rank_values,
                      s.largest_rank, s.mean_rank, s.redone_blocks, s.norm, s.compression_error, s.error_of_estimate);
  };
  return of(a) == of(b);
}

/// Each part has what the whole has: all ranks, and the values of what its ranks multiply and of the diagonal.
template <class V>
void compare(const HMatrixOf<V>& whole, const Parts<V>& parts, Distribution how) {
  const Partition rows = balance(whole, int(parts.size()) * parts[0]->part()->of_a_process);
  for (std::size_t p = 0; p < parts.size(); p++) {
    NOTE("process ", p);
    const HMatrixOf<V>& part = *parts[p];
    const Ranks& ranks = *part.part();
    CHECK(same_statistics(part.statistics(), whole.statistics()));
    CHECK(part.leaves().size() == whole.leaves().size());
    std::set<std::size_t> mine;
    for (int r = ranks.first(); r < ranks.first() + ranks.of_a_process; r++) {
      CHECK(ranks.cuts[std::size_t(r)] == rows.first_row(r));
      for (const LeafOf<V>* l : share_of(whole, rows, how, r).leaves) mine.insert(std::size_t(l - whole.leaves().data()));
    }
    i64 wrong = 0;
    for (std::size_t l = 0; l < whole.leaves().size(); l++) {
      const LeafOf<V>&here = part.leaves()[l], &there = whole.leaves()[l];
      const bool wanted = there.rank == 0 || mine.count(l) || on_diagonal(there.block);
      if (here.rank != there.rank || here.is_held() != wanted) wrong++;
      if (here.is_held() && here.rank != 0 && !same_values(here, there)) wrong++;
    }
    CHECK(wrong == 0);
    CHECK(dense::distance(part.diagonal(), whole.diagonal()) == 0);
    CHECK(inverse_of_diagonal_leaves(part).values == inverse_of_diagonal_leaves(whole).values);
  }
}

/// Counts the entries that it is asked for, and answers what it is told to from some row on.
struct Counting final : Generator {
  explicit Counting(const Generator& other) : of(other) {}
  i64 size() const override { return of.size(); }
  const double* points() const override { return of.points(); }
  void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override {
    asked += i64(rows.size() * columns.size());
    of.entries(rows, columns, out);
    if (!broken_at.empty() && rows[0] == broken_at[0] && columns[0] == broken_at[0]) out[0] = std::nan("");
  }

  const Generator& of;
  std::vector<i32> broken_at = {};
  mutable std::atomic<i64> asked = 0;
};

std::string said(const std::exception_ptr& thrown) {
  if (!thrown) return "nothing";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

TEST("processes have the bits of a whole build of what their ranks multiply, and the statistics of the whole") {
  NOTE(fresh::said());
  fresh::Random random(170);
  const surfaces::Surface ball = surfaces::sphere(5, 8);
  const BuildOptions options{.compression = {.eps = 1e-5}, .threads = 2, .seed = u64(random.whole(1, 1 << 30))};
  const bem::Laplace laplace(ball.view());
  const HMatrix whole(laplace, options);
  for (Distribution how : all_ways)
    for (auto [processes, of_each] : {std::pair{1, 2}, {2, 1}, {2, 3}, {3, 2}, {7, 1}}) {
      NOTE("distribution ", int(how), ", processes ", processes, " with ", of_each, " ranks");
      compare(whole, built<double>(laplace, options, processes, {.of_a_process = of_each, .how = how}), how);
    }
  const bem::Helmholtz waves(surfaces::sphere(5, 8, 1.0).view(), 3.0);
  const ComplexHMatrix whole_waves(waves, options);
  for (Distribution how : all_ways)
    compare(whole_waves, built<Number>(waves, options, 3, {.of_a_process = 2, .how = how}), how);
}

TEST("blocks that miss, are held to a rank, or have none, and all probes, are in parts what they are in the whole") {
  const bem::Laplace laplace(surfaces::sphere(5, 8).view());
  for (const BuildOptions& options :
       {BuildOptions{.compression = {.eps = 1e-7, .approximation = Approximation::aca}, .threads = 1},
        BuildOptions{.compression = {.eps = 1e-3, .most_rank = 1}, .threads = 1, .probes = 10000},
        BuildOptions{.compression = {.eps = 0.5}, .threads = 1, .probes = 0}}) {
    const HMatrix whole(laplace, options);
    compare(whole, built<double>(laplace, options, 2, {.of_a_process = 2, .how = Distribution::grid}), Distribution::grid);
  }
}

TEST("blocks that rows of the whole show to be off are in parts what they are in the whole, whoever lacks them") {
  struct Spiked final : Generator {
    explicit Spiked(const Generator& other) : of(other) {}
    i64 size() const override { return of.size(); }
    const double* points() const override { return of.points(); }
    void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override {
      of.entries(rows, columns, out);
      for (i32 i : rows)
        for (i32 j : columns) *out++ *= i % 61 == 5 && j % 53 == 7 ? 1.1 : 1;
    }
    const Generator& of;
  };
  const bem::Laplace laplace(surfaces::sphere(5, 10).view());
  const Spiked spiked(laplace);
  BuildOptions options{.compression = {.eps = 1e-4}, .threads = 1, .probes = 0};
  const i64 before = HMatrix(spiked, options).statistics().redone_blocks;
  options.probes = 10000;
  const HMatrix whole(spiked, options);
  CHECK(whole.statistics().redone_blocks > before);
  for (Distribution how : all_ways)
    for (int processes : {2, 3})
      compare(whole, built<double>(spiked, options, processes, {.of_a_process = 2, .how = how}), how);
}

TEST("leaves that devices compute have the bits of a whole build by devices") {
  const bem::Laplace laplace(surfaces::sphere(5, 8).view());
  const BuildOptions options{.compression = {.eps = 1e-5}, .threads = 2, .gpus = {0}};
  const host_leaves::Generator<double> whole_of(laplace), parts_of(laplace);
  const HMatrix whole(whole_of, options);
  Place place(2);
  Parts<double> parts(2);
  auto build = [&](int p) {
    const host_leaves::Generator<double> mine(laplace);
    parts[std::size_t(p)] = std::make_unique<HMatrix>(mine, options, part_at(place, p, {.of_a_process = 2}));
  };
  for (const auto& thrown : thread_processes::run(2, build)) CHECK(said(thrown) == "nothing");
  compare(whole, parts, Distribution::rows);
}

TEST("a process computes and holds its part of a large matrix alone") {
  const bem::Laplace laplace(surfaces::sphere(9, 16).view());
  const BuildOptions options{.compression = {.eps = 1e-3}, .threads = 1};
  const Counting whole_of(laplace);
  const HMatrix whole(whole_of, options);
  for (Distribution how : all_ways) {
    NOTE("distribution ", int(how));
    Place place(4);
    std::vector<i64> asked(4), held(4);
    auto build = [&](int p) {
      const Counting mine(laplace);
      const HMatrix part(mine, options, part_at(place, p, {.how = how}));
      asked[std::size_t(p)] = mine.asked, held[std::size_t(p)] = part.held_bytes();
    };
    for (const auto& thrown : thread_processes::run(4, build)) CHECK(said(thrown) == "nothing");
    for (std::size_t p = 0; p < 4; p++) {
      NOTE("process ", p, ": entries ", asked[p], " of ", i64(whole_of.asked), ", bytes ", held[p], " of ", whole.held_bytes());
      CHECK(double(asked[p]) < 0.45 * double(whole_of.asked));
      CHECK(double(held[p]) < 0.45 * double(whole.held_bytes()));
    }
    // 24 B a leaf, pieces of the rows that are compared, facts, and sentences that nobody has.
    CHECK(place.told / 4 < 3 * whole.leaves().size() + 32 * 400 + 100);
  }
}

TEST("a coarser matrix is built for the rows of another one") {
  const bem::Laplace laplace(surfaces::sphere(5, 8).view());
  const BuildOptions fine{.compression = {.eps = 1e-6}, .threads = 1}, coarse{.compression = {.eps = 1e-1}, .threads = 1};
  const HMatrix whole(laplace, fine), whole_coarse(laplace, coarse);
  const Partition rows = balance(whole, 4);
  Ranks ranks{.of_a_process = 2};
  for (int r = 0; r <= 4; r++) ranks.cuts.push_back(rows.first_row(r));
  const auto parts = built<double>(laplace, coarse, 2, ranks);
  for (int r = 0; r < 4; r++) {
    const HMatrix& part = *parts[std::size_t(r / 2)];
    CHECK(part.part()->cuts == ranks.cuts);
    const auto share = share_of(part, rows, Distribution::rows, r);
    require_held(share);
    CHECK(share.leaves.size() == share_of(whole_coarse, rows, Distribution::rows, r).leaves.size());
  }
  ranks.cuts[1] = ranks.cuts[2];
  CHECK_THROWS(built<double>(laplace, coarse, 2, ranks), Error, "do not increase");
}

TEST("products by ranks whose processes hold their parts have the bits of products with the whole") {
  NOTE(fresh::said());
  fresh::Random random(171);
  const bem::Laplace laplace(surfaces::sphere(5, 8).view());
  const BuildOptions options{.compression = {.eps = 1e-5}, .threads = 1};
  const HMatrix whole(laplace, options);
  const auto x = random.normals(whole.size());
  const Partition p = balance(whole, 6);
  for (Distribution how : all_ways)
    for (bool gathered : {false, true}) {
      const auto parts = built<double>(laplace, options, 3, {.of_a_process = 2, .how = how});
      auto product = [&](auto matrix_of) {
        HostEngine engine({.ranks = 6, .timeout = 20});
        auto make = [&](Rank& s) {
          const HMatrix& H = matrix_of(s.id());
          return gathered ? HMatrixOperator::gathered(s, H, p, how) : std::make_unique<HMatrixOperator>(s, H, p, how);
        };
        return product_by(engine, x, gathered, make).y;
      };
      const auto expected = product([&](int) -> const HMatrix& { return whole; });
      CHECK(same_bits(product([&](int r) -> const HMatrix& { return *parts[std::size_t(r / 2)]; }), expected));
      CHECK_THROWS(product([&](int r) -> const HMatrix& { return *parts[std::size_t((r / 2 + 1) % 3)]; }), Error,
                   "holds the part of the H-matrix that other ranks multiply");
    }
}

TEST("what one process fails of, all fail of; a caller's own exception is thrown where it came from") {
  const bem::Laplace laplace(surfaces::sphere(5, 8).view());
  const BuildOptions options{.compression = {.eps = 1e-5}, .threads = 1};
  const HMatrix whole(laplace, options);
  Counting broken(laplace);
  broken.broken_at = {whole.tree().order[0]};  // of the first rows: process 0's, until all compute the diagonal
  struct Own : std::runtime_error {
    Own() : std::runtime_error("the caller's") {}
  };
  auto outcomes = [&](auto build) {
    Place place(3);
    std::vector<std::string> all;
    auto program = [&](int p) { build(p, place); };
    for (const auto& thrown : thread_processes::run(3, program)) all.push_back(said(thrown));
    return all;
  };
  auto same_of = [&](const Generator& generator) {
    return outcomes([&](int p, Place& place) { HMatrix(generator, options, part_at(place, p, {})); });
  };
  for (const std::string& s : same_of(broken))
    CHECK(s == "process 0: the matrix has an entry that is not finite, or too large for its square");
  const auto own = outcomes([&](int p, Place& place) {
    struct Throwing final : Generator {
      const Generator& of;
      bool throws;
      Throwing(const Generator& other, bool at_all) : of(other), throws(at_all) {}
      i64 size() const override { return of.size(); }
      const double* points() const override { return of.points(); }
      void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override {
        if (throws) throw Own();
        of.entries(rows, columns, out);
      }
    };
    HMatrix(Throwing(laplace, p == 1), options, part_at(place, p, {}));
  });
  CHECK(own == std::vector<std::string>({"process 1: the caller's", "the caller's", "process 1: the caller's"}));
  const auto others = outcomes([&](int p, Place& place) {
    BuildOptions mine = options;
    if (p == 2) mine.compression.eps = 1e-4;
    HMatrix(laplace, mine, part_at(place, p, {}));
  });
  for (const std::string& s : others)
    CHECK(s.starts_with("processes that build an H-matrix together have different surfaces or options"));
  const bem::Laplace elsewhere(surfaces::sphere(5, 8, 11).view());
  const auto surfaces =
      outcomes([&](int p, Place& place) { HMatrix(p == 1 ? elsewhere : laplace, options, part_at(place, p, {})); });
  for (const std::string& s : surfaces)
    CHECK(s.starts_with("processes that build an H-matrix together have different surfaces or options"));
}

TEST("what wants the whole of a matrix refuses a part") {
  const bem::Laplace laplace(surfaces::sphere(5, 8).view());
  const auto parts = built<double>(laplace, {.compression = {.eps = 1e-4}, .threads = 1}, 2, {});
  const HMatrix& part = *parts[1];
  std::vector<double> row(std::size_t(part.size()));
  const char* const sentence = "process 1 holds its part of the H-matrix alone, and ";
  CHECK_THROWS(part.row(0, row.data()), Error, sentence);
  CHECK_THROWS(HostProduct{part}, Error, sentence);
  CHECK_THROWS((HMatrix{part, Transposed{}}), Error, sentence);
  CHECK_THROWS(part.write([](const double*, i64) {}), Error, sentence);
  Ranks ranks = *part.part();
  part.require_part_of(ranks);
  ranks.how = Distribution::grid;
  CHECK_THROWS(part.require_part_of(ranks), Error, "for 1 ranks in each of 2 processes with distribution rows");
  HMatrix(laplace, {.compression = {.eps = 1e-2}}).require_part_of(ranks);  // the whole is for everybody
  Place place(2);
  CHECK_THROWS((HMatrix{laplace, {}, part_at(place, 2, {})}), Error, "there is no process 2 of 2");
  CHECK_THROWS((HMatrix{laplace, {}, part_at(place, 0, {.of_a_process = 0})}), Error, "a process has one rank or more");
}
