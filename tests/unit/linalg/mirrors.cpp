// Symmetry by pairs of entries: what it says is what a look at each entry alone says.
#include "sordino/linalg/mirrors.hpp"

#include <functional>

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/linalg/diagonals.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

bool is_mirrored(const CsrMatrix& A) { return has_mirrors(A.view(), std::equal_to<>()); }

/// With the values of as many entries off the diagonal changed, or the entries gone.
bool with(matrices::Rows rows, const std::vector<std::pair<i32, i32>>& gone, double zero_at = NAN) {
  for (auto [row, column] : gone)
    if (std::isnan(zero_at))
      rows[std::size_t(row)].erase(column);
    else
      rows[std::size_t(row)][column] = zero_at;
  return is_mirrored(matrices::csr(rows));
}

}  // namespace

TEST("a matrix with mirrors has them, and one entry without is seen wherever it is") {
  NOTE(fresh::said());
  fresh::Random random(220);
  for (const CsrMatrix& A : {matrices::spd(random, 300, 3, 300), poisson(20, 5, 3, 7, 10), poisson(60, 50, 30, 7, 1000)}) {
    CHECK(is_mirrored(A));
    const matrices::Rows rows = matrices::rows(A);
    for (int trial = 0; trial < 5; trial++) {
      const i32 row = i32(random.whole(0, A.n - 1));
      for (auto [column, value] : rows[std::size_t(row)]) {
        if (column == row) continue;
        CHECK(!with(rows, {{row, column}}));
        CHECK(!with(rows, {{row, column}}, value == 0 ? 1 : 2 * value));
        CHECK(with(rows, {{row, column}, {column, row}}));
        break;
      }
    }
  }
}

TEST("an entry that is missing above the diagonal does not stand for one that is missing below") {
  const matrices::Rows rows = matrices::rows(poisson(4, 4, 4, 7, 1));
  CHECK(!with(rows, {{0, 1}}));
  CHECK(!with(rows, {{1, 0}}));
  CHECK(!with(rows, {{0, 1}, {3, 2}}));
  CHECK(!with(rows, {{1, 0}, {2, 3}}));
}

TEST("a zero that is stored on one side alone leaves a matrix equal to its transpose") {
  matrices::Rows rows = matrices::rows(poisson(4, 4, 4, 7, 1));
  rows[5][40] = 0;
  const CsrMatrix A = matrices::csr(rows);
  CHECK(!is_mirrored(A));
  CHECK(has_equal_mirrors(A.view()));
  rows[5][41] = 1e-300;
  CHECK(!has_equal_mirrors(matrices::csr(rows).view()));
}

TEST("of some rows those entries count whose mirrors are among them") {
  CsrMatrix A = poisson(6, 5, 4, 7, 3);
  CsrView part = A.view();
  part.first_row = 30, part.held = 60;
  std::vector<i64> starts(A.indptr.begin() + 30, A.indptr.begin() + 91);
  for (i64& start : starts) start -= A.indptr[30];
  part.indptr = starts.data(), part.indices += A.indptr[30], part.values += A.indptr[30];
  CHECK(has_mirrors(part, std::equal_to<>()));
  auto at = std::find(A.indices.begin() + A.indptr[40], A.indices.begin() + A.indptr[41], 41) - A.indices.begin();
  A.values[std::size_t(at)] *= 2;
  CHECK(!has_mirrors(part, std::equal_to<>()));
}
