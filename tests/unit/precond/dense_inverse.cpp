// The inverse that the last level of multigrid is solved by: of regular and of singular matrices, fast, with the same bits on
// any number of threads.
#include "sordino/precond/dense_inverse.hpp"

#include <cmath>
#include <ctime>

#include "check.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/linalg/poisson.hpp"
#include "unit/linalg/matrices.hpp"

using namespace sordino;

namespace {

using Vector = std::vector<double>;

double& at(CsrMatrix& A, i64 i, i64 j) { return A.values[std::size_t(i * A.n + j)]; }

/// With all n^2 entries there, zero.
CsrMatrix full(i64 n) {
  CsrMatrix A{.n = n, .indptr = {0}, .indices = {}, .values = Vector(std::size_t(n * n), 0.0)};
  for (i64 i = 0; i < n; i++) {
    for (i64 j = 0; j < n; j++) A.indices.push_back(i32(j));
    A.indptr.push_back((i + 1) * n);
  }
  return A;
}

Vector product(const CsrMatrix& A, const Vector& x) {
  Vector y(x.size(), 0.0);
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      y[std::size_t(i)] += A.values[std::size_t(k)] * x[std::size_t(A.indices[std::size_t(k)])];
  return y;
}

double norm(const Vector& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return std::sqrt(sum);
}

double distance(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); i++) a[i] -= b[i];
  return norm(a);
}

/// Rows in so many closed parts, coupled at random, some of them `contrast` times less; the row numbers of parts are mixed.
CsrMatrix parted(fresh::Random& random, i64 n, i64 parts, double contrast) {
  matrices::Rows rows(static_cast<std::size_t>(n));
  auto couple = [&](i64 i, i64 j) {
    const double value = random.real(1, 2) / (random.chance(0.3) ? contrast : 1);
    for (auto [a, b] : {std::pair(i, j), std::pair(j, i)}) {
      if (!rows[std::size_t(a)].contains(i32(b))) rows[std::size_t(a)][i32(b)] = 0;
      rows[std::size_t(a)][i32(b)] -= value;
      rows[std::size_t(a)][i32(a)] += value;
    }
  };
  for (i64 i = parts; i < n; i++) {
    couple(i, i - parts);
    couple(i, i % parts + parts * random.whole(0, i / parts - 1));
  }
  return matrices::csr(rows);
}

bool is_symmetric(CsrMatrix X) {
  bool all = true;
  for (i64 i = 0; i < X.n; i++)
    for (i64 j = 0; j < i; j++) all &= at(X, i, j) == at(X, j, i);
  return all;
}

/// Column by column of L D L^T, as a textbook has it.
CsrMatrix textbook(CsrMatrix A) {
  const i64 n = A.n;
  CsrMatrix X = full(n);
  for (i64 k = 0; k < n; k++)
    for (i64 i = k; i < n; i++) {
      for (i64 m = 0; m < k; m++) at(A, i, k) -= at(A, i, m) * at(A, k, m) * at(A, m, m);
      if (i > k) at(A, i, k) /= at(A, k, k);
    }
  for (i64 j = 0; j < n; j++) {
    double* x = &at(X, j, 0);
    x[j] = 1;
    for (i64 i = j; i < n; i++)
      for (i64 k = j; k < i; k++) x[i] -= at(A, i, k) * x[k];
    for (i64 i = n; i-- > 0;) {
      x[i] /= at(A, i, i);
      for (i64 k = i + 1; k < n; k++) x[i] -= at(A, k, i) * x[k];
    }
  }
  return X;
}

CsrMatrix positive(fresh::Random& random, i64 n) {
  CsrMatrix A = full(n);
  for (i64 i = 0; i < n; i++) {
    for (i64 j = 0; j < i; j++) at(A, i, j) = at(A, j, i) = random.normal();
    at(A, i, i) = 4 * std::sqrt(double(n));
  }
  return A;
}

template <class Act>
double seconds(const Act& act) {  // of all threads, the least of three times
  double least = 1e300;
  for (int k = 0; k < 3; k++) {
    const std::clock_t begin = std::clock();
    act();
    least = std::min(least, double(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace

TEST("a dense inverse: times the matrix it is the identity, of any size, full or in bands") {
  NOTE(fresh::said());
  fresh::Random random(843);
  for (i64 n : {1, 5, 8, 9, 63, 64, 65, 200, 321})
    for (const CsrMatrix& A :
         {matrices::spd(random, n, 3, n), positive(random, n), poisson(n, 1, 1, 7, 1), poisson(3, 3, n, 27, 9)}) {
      const CsrMatrix X = inverse_of(A.view());
      CHECK(is_symmetric(X));
      for (int k = 0; k < 3; k++) {
        const Vector x = random.normals(A.n), found = product(X, product(A, x));
        NOTE(A.n, " rows: ", distance(found, x) / norm(x));
        CHECK(distance(found, x) <= 1e-9 * norm(x));
      }
    }
}

TEST("a dense inverse of a singular matrix is Moore and Penrose's, part by part, whatever is coupled how weakly") {
  NOTE(fresh::said());
  fresh::Random random(844);
  for (i64 n : {3, 17, 130, 700})
    for (i64 parts : {1, 3})
      for (double contrast : {1.0, 1e4, 1e8}) {
        const CsrMatrix A = parted(random, n, parts, contrast), X = inverse_of(A.view());
        CHECK(is_symmetric(X));
        const Vector b = product(A, random.normals(n)), x = product(X, b);
        NOTE(n, " rows, ", parts, " parts, contrast ", contrast, ": ", distance(product(A, x), b) / norm(b));
        CHECK(distance(product(A, x), b) <= (1e-10 + 1e-15 * contrast) * norm(b));
        double largest = 0;
        for (double v : X.values) largest = std::max(largest, std::abs(v));
        for (i64 part = 0; part < parts; part++) {
          Vector ones(static_cast<std::size_t>(n), 0.0);
          for (i64 i = part; i < n; i += parts) ones[std::size_t(i)] = 1;
          CHECK(norm(product(X, ones)) <= 1e-6 * largest);
        }
      }
}

TEST("a dense inverse of one part that maps several vectors to zero is Moore and Penrose's, too") {
  NOTE(fresh::said());
  fresh::Random random(845);
  for (i64 points : {7, 40}) {
    const CsrMatrix graph = parted(random, points, 1, 1);
    CsrMatrix A = full(3 * points);  // of three unknowns a point, each coupled with all of its neighbours'
    for (i64 i = 0; i < points; i++)
      for (i64 k = graph.indptr[std::size_t(i)]; k < graph.indptr[std::size_t(i) + 1]; k++)
        for (i64 a = 0; a < 3; a++)
          for (i64 c = 0; c < 3; c++)
            at(A, 3 * i + a, 3 * graph.indices[std::size_t(k)] + c) = (a == c ? 1 : 0.25) * graph.values[std::size_t(k)];
    const CsrMatrix X = inverse_of(A.view());
    const Vector b = product(A, random.normals(A.n));
    CHECK(distance(product(A, product(X, b)), b) <= 1e-10 * norm(b));
    for (i64 a = 0; a < 3; a++) {
      Vector ones(std::size_t(A.n), 0.0);
      for (i64 i = a; i < A.n; i += 3) ones[std::size_t(i)] = 1;
      CHECK(norm(product(X, ones)) <= 1e-9 * norm(product(X, b)));
    }
  }
}

TEST("a dense inverse has the same bits on any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(846);
  for (const CsrMatrix& A : {positive(random, 600), poisson(9, 9, 9, 7, 100), parted(random, 555, 1, 1e4)}) {
    Vector one;
    {
      const SharedCores alone(1 << 20);
      one = inverse_of(A.view()).values;
    }
    const SharedCores all(1);
    CHECK(inverse_of(A.view()).values == one);
  }
}

TEST("a dense inverse takes half the time of a textbook's, and a fifth of that where rows lie in bands") {
  NOTE(fresh::said());
  fresh::Random random(847);
  const CsrMatrix A = positive(random, 600), bands = poisson(8, 15, 10, 7, 1);
  const double plain = seconds([&] { textbook(A); }), mine = seconds([&] { inverse_of(A.view()); }),
               of_bands = seconds([&] { inverse_of(bands.view()); });
  NOTE(plain, " s, ", mine, " s, and of 1,200 rows in bands ", of_bands, " s");
  CHECK(mine <= plain / 2);
  CHECK(of_bands <= 8 * plain / 5);  // with twice as many rows a textbook takes eight times as long
}
