// Bad matrices are refused with one sentence that says where.
#include <limits>
#include <utility>

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

CsrMatrix good() { return matrices::csr({{{0, 4.0}, {2, -1.0}}, {{1, 3.0}}, {{0, -1.0}, {1, 0.5}, {2, 5.0}}}); }

}  // namespace

TEST("a good matrix is accepted") {
  validate(good().view());
  NOTE(fresh::said());
  fresh::Random random(20);
  for (i64 n : {1, 2, 17, 300})
    for (auto& [name, A] : matrices::zoo(random, n)) validate(A.view());
}

TEST("an empty matrix is refused") {
  CsrMatrix A;
  A.indptr = {0};
  CHECK_THROWS(validate(A.view()), Error, "the matrix is empty");
}

TEST("broken row pointers are refused") {
  CsrMatrix A = good();
  A.indptr[0] = 1;
  CHECK_THROWS(validate(A.view()), Error, "indptr must begin with 0");
  A = good();
  A.indptr[1] = 4;
  CHECK_THROWS(validate(A.view()), Error, "indptr decreases at row 1");  // pointers are looked at before columns
  A = good();
  A.indptr[2] = 1;
  CHECK_THROWS(validate(A.view()), Error, "indptr decreases at row 1");
}

TEST("a row without entries is refused") {
  CsrMatrix A = good();
  A.indptr[1] = 0;
  CHECK_THROWS(validate(A.view()), Error, "row 0 of the matrix is empty: the matrix is singular");
}

TEST("a column out of range, out of order or twice is refused") {
  CsrMatrix A = good();
  A.indices[2] = 3;
  CHECK_THROWS(validate(A.view()), Error, "column index 3 in row 1 is out of range (n = 3)");
  A.indices[2] = -1;
  CHECK_THROWS(validate(A.view()), Error, "column index -1 in row 1 is out of range (n = 3)");
  A = good();
  std::swap(A.indices[3], A.indices[4]);
  CHECK_THROWS(validate(A.view()), Error, "columns of row 2 are not in increasing order");
  A = good();
  A.indices[4] = 0;
  CHECK_THROWS(validate(A.view()), Error, "columns of row 2 are not in increasing order");
}

TEST("NaN and Inf are refused, with their place") {
  for (double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
    CsrMatrix A = good();
    A.values[4] = bad;
    CHECK_THROWS(validate(A.view()), Error, "the matrix holds a NaN or Inf at row 2, column 1");
    CHECK_THROWS(validate_values(good().view(), A.values.data()), Error, "the matrix holds a NaN or Inf at row 2, column 1");
  }
}

TEST("every refusal is a bad argument") {
  CsrMatrix A = good();
  A.values[0] = NAN;
  try {
    validate(A.view());
    CHECK(false);
  } catch (const Error& e) {
    CHECK(e.code() == Errc::bad_argument);
  }
}

TEST("of several faults far apart the first is told") {
  const i64 n = 300000;
  CsrMatrix A = poisson(n, 1, 1, 7, 1.0);
  A.values[std::size_t(A.indptr[200000])] = std::numeric_limits<double>::quiet_NaN();
  A.values[std::size_t(A.indptr[100])] = std::numeric_limits<double>::infinity();
  CHECK_THROWS(validate(A.view()), Error, "NaN or Inf at row 100,");
  std::swap(A.indices[std::size_t(A.indptr[250000])], A.indices[std::size_t(A.indptr[250000]) + 1]);
  std::swap(A.indices[std::size_t(A.indptr[70000])], A.indices[std::size_t(A.indptr[70000]) + 1]);
  CHECK_THROWS(validate(A.view()), Error, "columns of row 70000 are not in increasing order");
}
