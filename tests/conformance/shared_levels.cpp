// Levels of amg of which each process has its own rows: that they are, to the bit, those that one process with all rows makes
// for the same ranks, down to the one that is gathered; rows in random order, where pairs stay within nobody; new values; what
// is refused. Threads stand for processes.
#include <numeric>

#include "check.hpp"
#include "cycles.hpp"
#include "problems.hpp"
#include "sordino/precond/aggregation.hpp"
#include "sordino/precond/shared_levels.hpp"

using namespace cycles;
using namespace problems;

namespace {

/// How many ranks each process has.
struct Run {
  std::vector<int> ranks;
  int all() const { return std::accumulate(ranks.begin(), ranks.end(), 0); }
  int first(int process) const { return std::accumulate(ranks.begin(), ranks.begin() + process, 0); }
};

/// act(levels, process) in each of them.
template <class Act>
void with_levels(const CsrMatrix& A, const Partition& partition, const Run& run, i64 alone, const Act& act,
                 i64 most_gathered = SharedLevels::usual_most) {
  host::HostEngine engine({.ranks = int(run.ranks.size())});
  engine.run([&](Rank& rank) {
    const int p = rank.id(), first_rank = run.first(p), ranks = run.ranks[std::size_t(p)];
    const i64 first = partition.first_row(first_rank), end = partition.first_row(first_rank + ranks);
    std::vector<i64> indptr(A.indptr.begin() + first, A.indptr.begin() + end + 1);
    const i64 before = indptr[0];
    for (i64& at : indptr) at -= before;
    const CsrView rows{.n = A.n,
                       .indptr = indptr.data(),
                       .indices = A.indices.data() + before,
                       .values = A.values.data() + before,
                       .first_row = first,
                       .held = end - first};
    Together together{[&](const std::function<void(Rank&)>& job) { job(rank); },
                      [](const std::function<void()>& job) { job(); }};
    SharedLevels levels(rows, partition, first_rank, ranks, alone, std::move(together), most_gathered);
    act(levels, rows, rank);
  });
}

/// The rows that it holds are those of the whole one, to the bit.
bool same_rows(const CsrView& held, const CsrView& whole) {
  if (held.n != whole.n) return false;
  for (i64 i = held.first_row; i < held.end_row(); i++) {
    const i64 at = held.begin(i), from = whole.begin(i), count = whole.begin(i + 1) - from;
    if (held.begin(i + 1) - at != count || !std::equal(held.indices + at, held.indices + at + count, whole.indices + from) ||
        !std::equal(held.values + at, held.values + at + count, whole.values + from))
      return false;
  }
  return true;
}

bool on_one(const Partition& rows) { return rows.rows(0) == rows.n; }

bool near(double a, double b) { return std::abs(a - b) <= 1e-10 * b; }

/// Rows [n / 5, 4 n / 5) are coupled with nobody.
CsrMatrix with_solid_middle(CsrMatrix A) {
  auto solid = [&](i64 i) { return i >= A.n / 5 && i < 4 * A.n / 5; };
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (const i64 j = A.indices[std::size_t(k)]; i != j && (solid(i) || solid(j))) A.values[std::size_t(k)] = 0;
  return A;
}

std::vector<CsrMatrix> matrices_of(fresh::Random& random) {
  return {poisson(17, 15, 19, 7, 1e3), poisson(40, 31, 1, 7, 1e-3), with_solids(random, poisson(12, 15, 9, 7, 1e3), 0.3),
          with_solid_middle(poisson(11, 12, 20, 7, 1.0))};
}

}  // namespace

TEST("shared levels are those of one process with all rows, for the same ranks") {
  NOTE(fresh::said());
  fresh::Random random(861);
  for (const CsrMatrix& A : matrices_of(random))
    for (const Run& run : {Run{{1}}, Run{{1, 1}}, Run{{1, 2, 1}}, Run{{3, 1, 1, 2}}})
      for (i64 alone : {i64{0}, i64{200}}) {
        NOTE(A.n, " rows, ", run.ranks.size(), " processes, ", run.all(), " ranks, alone ", alone);
        const Partition partition = balance(A.view(), run.all());
        const std::vector<AggregatedLevel> whole = aggregated_levels(A.view(), partition);
        with_levels(A, partition, run, alone, [&](const SharedLevels& levels, const CsrView&, Rank&) {
          CHECK(same_rows(levels.matrix(0), A.view()));
          CHECK(levels.partition(0).first_row(1) == partition.first_row(1));
          CHECK(near(levels.bound(0), estimated_bound(A.view())));
          for (int l = 1; l + 1 < levels.count() && l <= int(whole.size()) && !(alone > 0 && on_one(levels.partition(l)));
               l++) {
            const CsrView expected = whole[std::size_t(l) - 1].A.view();
            CHECK(same_rows(levels.matrix(l), expected));
            CHECK(near(levels.bound(l), estimated_bound(expected)));
          }
          if (alone == 0) CHECK(levels.count() == int(whole.size()) + 1);
          const int last = levels.count() - 1;
          CHECK(levels.last_inverse().n == levels.partition(last).n);
          CHECK(levels.last_inverse().n <= 64 + run.all());
          if (alone > 0) CHECK(on_one(levels.partition(last)));
        });
      }
}

TEST("shared levels of rows in random order are made of all rows, as by one process") {
  NOTE(fresh::said());
  fresh::Random random(862);
  const CsrMatrix A = shuffled(random, poisson(21, 19, 5, 7, 1e3));
  const Run run{{1, 1, 2}};
  const Partition partition = balance(A.view(), run.all());
  const AlgebraicLevels whole(A.view(), partition);
  with_levels(A, partition, run, 300, [&](const SharedLevels& levels, const CsrView&, Rank& rank) {
    REQUIRE(levels.count() == whole.count());
    for (int l = 0; l < whole.count(); l++) {
      CHECK(same_rows(levels.matrix(l), whole.matrix(l)));
      CHECK(levels.partition(l).first_row(rank.id()) == whole.partition(l).first_row(rank.id()));
    }
    CHECK(same_bits(levels.last_inverse().values, whole.last_inverse().values));
  });
}

TEST("shared levels of new values are along the same aggregates, as of one process with all rows") {
  NOTE(fresh::said());
  fresh::Random random(863);
  for (const CsrMatrix& A : matrices_of(random)) {
    CsrMatrix B = A;
    for (i64 i = 0; i < A.n; i++)
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        if (A.indices[std::size_t(k)] == i) B.values[std::size_t(k)] *= random.real(1, 2);
    const Run run{{1, 2, 1}};
    const Partition partition = balance(A.view(), run.all());
    AlgebraicLevels whole(A.view(), partition);
    whole.update(B.view());
    for (i64 alone : {0, 150})
      with_levels(A, partition, run, alone, [&](SharedLevels& levels, const CsrView& rows, Rank&) {
        NOTE(A.n, " rows, alone ", alone);
        const std::vector<double> first = levels.last_inverse().values;
        CsrView updated = rows;
        updated.values = B.values.data() + (rows.values - A.values.data());
        levels.update(updated);
        for (int l = 0; l + 1 < levels.count() && !(alone > 0 && on_one(levels.partition(l))); l++) {
          CHECK(same_rows(levels.matrix(l), whole.matrix(l)));
          CHECK(near(levels.bound(l), whole.bound(l)));
        }
        if (alone == 0) CHECK(same_bits(levels.last_inverse().values, whole.last_inverse().values));
        CHECK(!same_bits(levels.last_inverse().values, first));
        levels.update(rows);
        CHECK(same_bits(levels.last_inverse().values, first));
      });
  }
}

TEST("shared levels: rows that are coupled with other processes' alone are gathered, or refused by all, with one sentence") {
  constexpr i32 n = 240, processes = 8;
  std::vector<i32> place;
  for (i32 i = 0; i < n; i++) place.push_back(i % processes * (n / processes) + i / processes);  // neighbours are elsewhere
  const CsrMatrix A = reordered(poisson(n, 1, 1, 7, 1.0), place);
  const Run run{std::vector<int>(processes, 1)};
  const Partition partition = balance(A.view(), run.all());
  with_levels(A, partition, run, 100, [](const SharedLevels& levels, const CsrView&, Rank&) { CHECK(levels.count() > 1); }, n);
  auto nothing = [](const SharedLevels&, const CsrView&, Rank&) {};
  CHECK_THROWS(with_levels(A, partition, run, 100, nothing, n - 1), Error,
               "would leave 240 of 240, and more than 239 rows are not gathered");
}

TEST("shared levels of rows that nobody is coupled with: few are inverted, many refused") {
  auto identity = [](i64 n) {
    CsrMatrix A{.n = n, .indptr = {0}, .indices = {}, .values = std::vector<double>(std::size_t(n), 2.0)};
    for (i64 i = 0; i < n; i++) A.indices.push_back(i32(i)), A.indptr.push_back(i + 1);
    return A;
  };
  const Run run{{1, 2}};
  for (i64 n : {300, 2049}) {
    const CsrMatrix A = identity(n);
    auto look = [&](const SharedLevels& levels, const CsrView&, Rank&) {
      CHECK(levels.count() == 1);
      CHECK(levels.last_inverse().n == n);
    };
    auto make = [&] { with_levels(A, balance(A.view(), run.all()), run, 100, look); };
    if (n == 300)
      make();
    else
      CHECK_THROWS(make(), Error, "on 3 ranks ends with 2049 of them, more than 2048, which are inverted");
  }
}
