// A caller's arrays are copied if they are rows of a usable matrix, and every single thing that is wrong with them is seen.
#include "sordino/linalg/taken_rows.hpp"

#include <cmath>
#include <utility>

#include "check.hpp"
#include "matrices.hpp"

using namespace sordino;

namespace {

template <class Start, class Column>
struct Arrays {
  std::vector<Start> indptr;
  std::vector<Column> indices;
  std::vector<double> values;
  int words = 1;

  explicit Arrays(const CsrMatrix& A)
      : indptr(A.indptr.begin(), A.indptr.end()), indices(A.indices.begin(), A.indices.end()), values(A.values) {}
  GivenRows<Start, Column> given() const {
    const i64 rows = i64(indptr.size()) - 1;
    return {rows, rows, indptr.data(), indices.data(), values.data(), i64(indices.size()), words};
  }
  bool is_good() const { return take_rows(given(), {}); }
};

template <class Start, class Column>
void check_copies(const CsrMatrix& A) {
  const Arrays<Start, Column> arrays(A);
  CsrMatrix to{A.n, std::vector<i64>(A.indptr.size(), -1), std::vector<i32>(A.indices.size(), -1),
               std::vector<double>(A.values.size(), -1)};
  CHECK(take_rows(arrays.given(), {to.indptr.data(), to.indices.data(), to.values.data()}));
  CHECK(to.indptr == A.indptr);
  CHECK(to.indices == A.indices);
  CHECK(to.values == A.values);
  CHECK(arrays.is_good());
}

/// What `damage` makes of the arrays is refused.
template <class Damage>
void check_refused(const CsrMatrix& A, const Damage& damage) {
  Arrays<i64, i64> arrays(A);
  damage(arrays);
  CHECK(!arrays.is_good());
}

}  // namespace

TEST("rows of a usable matrix are copied, of whatever integers") {
  NOTE(fresh::said());
  fresh::Random random(210);
  for (i64 n : {1, 17, 1024, 1025, 90000})
    for (const CsrMatrix& A : {matrices::scattered(random, n, 3, n), matrices::diagonal(random, n)}) {
      NOTE("n = ", n);
      check_copies<i32, i32>(A);
      check_copies<i32, i64>(A);
      check_copies<i64, i32>(A);
      check_copies<i64, i64>(A);
    }
}

TEST("one thing that is wrong anywhere is enough") {
  NOTE(fresh::said());
  fresh::Random random(211);
  const i64 n = 90000;
  const CsrMatrix A = matrices::scattered(random, n, 3, n);
  for (i64 row : {i64(0), random.whole(1, n - 2), n - 1}) {
    NOTE("row ", row);
    const std::size_t at = std::size_t(A.indptr[std::size_t(row)]), i = std::size_t(row);
    for (double bad : {double(NAN), double(INFINITY), -double(INFINITY)})
      check_refused(A, [&](auto& a) { a.values[at] = bad; });
    for (i64 column : {i64(-1), n, i64(1) << 32}) check_refused(A, [&](auto& a) { a.indices[at] = column; });
    check_refused(A, [&](auto& a) { a.indptr.insert(a.indptr.begin() + row, A.indptr[i]); });  // an empty row
    check_refused(A, [&](auto& a) { a.indptr[i] = -1; });
    check_refused(A, [&](auto& a) { a.indptr[i + 1] = A.indptr.back() + 1; });
    if (A.indptr[i + 1] - A.indptr[i] < 2) continue;
    check_refused(A, [&](auto& a) { a.indices[at + 1] = a.indices[at]; });
    check_refused(A, [&](auto& a) { std::swap(a.indices[at], a.indices[at + 1]); });
  }
  check_refused(A, [&](auto& a) { a.indices.push_back(0), a.values.push_back(1); });  // entries of no row
}

TEST("of complex entries both parts are looked at") {
  Arrays<i64, i32> arrays(matrices::csr({{{0, 1.0}}, {{1, 2.0}}}));
  arrays.values = {1, 2, 3, 4}, arrays.words = 2;
  CHECK(arrays.is_good());
  for (double& part : arrays.values) {
    part = double(NAN);
    CHECK(!arrays.is_good());
    part = 1;
  }
}
