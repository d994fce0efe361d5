// Levels that a GPU makes: bit by bit those of the host's threads.
#include <cstring>

#include "full_gpu.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/aggregation.hpp"
#include "sordino/precond/cuda/device_levels.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "support.hpp"
#include "unit/fresh.hpp"
#include "unit/linalg/matrices.hpp"
#include "unit/linalg/wild.hpp"

namespace {

using namespace sordino;

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

void check_same(const CsrMatrix& there, const CsrMatrix& here) {
  CHECK(there.n == here.n);
  CHECK(there.indptr == here.indptr);
  CHECK(there.indices == here.indices);
  CHECK(same_bits(there.values, here.values));
}

/// Equal parts of the rows.
std::vector<i64> cuts_of(i64 n, int parts) {
  std::vector<i64> cuts;
  for (int p = 0; p <= parts; p++) cuts.push_back(n * p / parts);
  return cuts;
}

/// Levels to the last one that has fewer rows than the one above. How many.
int compare(const CsrMatrix& A, int parts) {
  const auto gpu = device_levels(0), host = host_levels();
  std::vector<i64> cuts = cuts_of(A.n, parts);
  CsrMatrix here = A;
  for (int level = 0;; level++) {
    NOTE(A.n, " rows in ", parts, " parts, level ", level, " of ", here.n);
    const Aggregates expected = host->aggregates(here.view(), cuts), found = gpu->aggregates(here.view(), cuts);
    CHECK(found.of == expected.of);
    CHECK(found.cuts == expected.cuts);
    if (expected.count() == 0 || expected.count() == here.n) return level;
    const MapMatrix P = interpolation(expected);
    CsrMatrix coarse = host->coarse(here.view(), P.view());
    check_same(gpu->coarse(here.view(), P.view()), coarse);
    here = std::move(coarse);
    cuts = expected.cuts;
  }
}

/// Row 0 couples with all others, as strongly as with the first.
CsrMatrix star(i64 n, double strength) {
  matrices::Rows rows(static_cast<std::size_t>(n));
  for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = 1;
  for (i64 i = 1; i < n; i++) {
    rows[0][i32(i)] = rows[std::size_t(i)][0] = -strength;
    rows[0][0] += strength, rows[std::size_t(i)][i32(i)] += strength;
    if (i + 1 < n) rows[std::size_t(i)][i32(i + 1)] = rows[std::size_t(i + 1)][i32(i)] = -0.5;
  }
  return matrices::csr(rows);
}

CsrMatrix without_entries(i64 n) {
  return {.n = n, .indptr = std::vector<i64>(std::size_t(n) + 1, 0), .indices = {}, .values = {}};
}

/// Forwards, and counts what was made.
class Counted final : public LevelMaker {
 public:
  Counted(std::unique_ptr<LevelMaker> by, int& made) : by_(std::move(by)), made_(made) {}
  Aggregates aggregates(const CsrView& A, const std::vector<i64>& cuts) override { return by_->aggregates(A, cuts); }
  CsrMatrix coarse(const CsrView& A, const MapView& P) override {
    CsrMatrix to = by_->coarse(A, P);
    made_++;
    return to;
  }

 private:
  std::unique_ptr<LevelMaker> by_;
  int& made_;
};

}  // namespace

TEST("a GPU makes the levels of the host, of grids and of matrices of all kinds") {
  NOTE(fresh::said());
  fresh::Random random(845);
  test::need_gpu();
  std::vector<CsrMatrix> all{poisson(40, 37, 41, 7, 1), poisson(33, 31, 30, 7, 1e6), poisson(20, 21, 22, 27, 1e3),
                             poisson(5000, 1, 1, 7, 1), matrices::spd(random, 1500, 3, 40)};
  for (int couplings : {0, 1, 2, 5, 30}) all.push_back(matrices::wild(random, random.whole(50, 4000), couplings));
  for (bool in_order : {true, false}) all.push_back(matrices::growing(random, 200, in_order));
  for (const CsrMatrix& A : all)
    for (int parts : {1, 2, 7}) compare(A, parts);
}

TEST("a GPU makes levels of few rows, of a row that couples with all others, and of rows without couplings or entries") {
  NOTE(fresh::said());
  fresh::Random random(846);
  test::need_gpu();
  for (i64 n : {1, 2, 3, 31, 32, 33, 255, 256, 257}) {
    compare(poisson(n, 1, 1, 7, 1), 1);
    compare(matrices::wild(random, n, 3), 1);
    CHECK(compare(poisson(n, 1, 1, 7, 1), int(std::min<i64>(n, 3))) >= (n > 3));
  }
  for (double strength : {1e-3, 0.5, 1e3}) compare(star(random.whole(3000, 9000), strength), 2);
  CHECK(compare(matrices::wild(random, 100, 0), 1) == 0);
  CHECK(compare(without_entries(100), 3) == 0);
}

TEST("levels of the whole are the same with a GPU, down to few rows and as far as is asked") {
  NOTE(fresh::said());
  fresh::Random random(847);
  test::need_gpu();
  for (const CsrMatrix& A : {poisson(48, 40, 44, 7, 1e3), matrices::wild(random, 20000, 4)})
    for (int ranks : {1, 3}) {
      const Partition first = balance(A.view(), ranks);
      const std::vector<AggregatedLevel> expected = aggregated_levels(A.view(), first);
      for (i64 least : {i64(0), A.n / 8, A.n + 1}) {
        int made = 0;
        const std::vector<AggregatedLevel> found =
            aggregated_levels(A.view(), first, std::make_unique<Counted>(device_levels(0), made), least);
        REQUIRE(found.size() == expected.size());
        int to_be_made = least <= A.n;
        for (std::size_t l = 0; l < found.size(); l++) {
          CHECK(found[l].P.indices == expected[l].P.indices);
          CHECK(found[l].P.indptr == expected[l].P.indptr);
          check_same(found[l].A, expected[l].A);
          to_be_made += l + 1 < found.size() && expected[l].A.n >= least;
        }
        CHECK(made == to_be_made);
      }
    }
}

TEST("threads make the levels where a GPU has no memory left for them") {
  test::need_gpu();
  const CsrMatrix A = poisson(64, 64, 64, 7, 1);
  const Partition first = balance(A.view(), 1);
  int made = 0;
  const auto found = [&] {
    test::FullGpu full;
    return aggregated_levels(A.view(), first, std::make_unique<Counted>(device_levels(0), made));
  }();
  const auto expected = aggregated_levels(A.view(), first);
  CHECK(made == 0);
  REQUIRE(found.size() == expected.size());
  for (std::size_t l = 0; l < found.size(); l++) check_same(found[l].A, expected[l].A);
}

TEST("a GPU does not pair rows of which one alone is strongly coupled") {
  test::need_gpu();
  CsrMatrix A = poisson(40, 40, 1, 7, 1);
  for (i64 k = A.indptr[100]; k < A.indptr[101]; k++)
    if (A.indices[std::size_t(k)] == 101) A.values[std::size_t(k)] = 0;
  bool refused = false;
  try {
    device_levels(0)->aggregates(A.view(), {0, A.n});
  } catch (const Error& e) {
    refused = e.code() == Errc::unsupported;
  }
  CHECK(refused);
}
