// Incomplete factorisations: products of the factors have the entries of the matrix wherever it has one.
#include "sordino/trsv/incomplete.hpp"

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/trsv/triangles.hpp"

namespace {

using namespace sordino;
using namespace sordino::trsv;

/// A matrix that is diagonally dominant, dense and by rows. `zero`: where it has no entry.
template <class V>
struct Sparse {
  i64 n = 0;
  std::vector<i64> begin{0};
  std::vector<i32> columns;
  std::vector<V> values;
  SparseRows rows() const { return {n, begin.data(), columns.data()}; }
  /// Entry (i, j), or null.
  const V* at(i64 i, i64 j) const {
    for (i64 k = begin[std::size_t(i)]; k < begin[std::size_t(i) + 1]; k++)
      if (columns[std::size_t(k)] == j) return &values[std::size_t(k)];
    return nullptr;
  }
};

template <class V>
V draw(fresh::Random& random) {
  if constexpr (std::is_same_v<V, Number>)
    return {random.normal(), random.normal()};
  else
    return random.normal();
}

/// Hermitian, or not; of that only the lower triangle, if asked.
template <class V>
Sparse<V> dominant(fresh::Random& random, i64 n, double chance, bool hermitian, bool lower) {
  const std::size_t size = std::size_t(n);
  std::vector<std::vector<V>> dense(size, std::vector<V>(size));
  std::vector<std::vector<char>> has(size, std::vector<char>(size, 0));
  for (std::size_t i = 0; i < size; i++)
    for (std::size_t j = 0; j < (hermitian ? i : size); j++)
      if (i != j && random.chance(chance)) {
        dense[i][j] = draw<V>(random), has[i][j] = 1;
        if (hermitian) dense[j][i] = conjugate(dense[i][j]), has[j][i] = 1;
      }
  Sparse<V> A;
  A.n = n;
  for (std::size_t i = 0; i < size; i++) {
    double sum = 1;
    for (std::size_t j = 0; j < size; j++) sum += magnitude(dense[i][j]) + magnitude(dense[j][i]);
    dense[i][i] = V(sum), has[i][i] = 1;
    for (std::size_t j = 0; j < (lower ? i + 1 : size); j++)
      if (has[i][j]) A.columns.push_back(i32(j)), A.values.push_back(dense[i][j]);
    A.begin.push_back(i64(A.columns.size()));
  }
  return A;
}

template <class V>
void check_lu(const Sparse<V>& A) {
  Sparse<V> F = A;
  ilu0(A.rows(), F.values.data());
  for (i64 i = 0; i < A.n; i++)
    for (i64 j = 0; j < A.n; j++) {
      if (!A.at(i, j)) continue;
      V product{};
      for (i64 k = 0; k <= std::min(i, j); k++) {
        const V *l = F.at(i, k), *u = F.at(k, j);
        if (u && (l || k == i)) product = product + (k == i ? V(1) : *l) * *u;
      }
      CHECK(magnitude(product - *A.at(i, j)) < 1e-13 * magnitude(*A.at(i, i)));
    }
}

template <class V>
void check_cholesky(const Sparse<V>& A) {
  Sparse<V> L = A;
  ic0(A.rows(), L.values.data());
  for (i64 i = 0; i < A.n; i++)
    for (i64 j = 0; j <= i; j++) {
      if (!A.at(i, j)) continue;
      V product{};
      for (i64 k = 0; k <= j; k++)
        if (const V *l = L.at(i, k), *m = L.at(j, k); l && m) product = product + *l * conjugate(*m);
      CHECK(magnitude(product - *A.at(i, j)) < 1e-13 * magnitude(*A.at(i, i)));
    }
}

}  // namespace

TEST("products of incomplete factors have the matrix's entries wherever it has one, real and complex") {
  NOTE(fresh::said());
  fresh::Random random(61);
  for (int k = 0; k < 12; k++) {
    const i64 n = random.whole(1, 40);
    const double chance = random.real(0, 0.5);
    NOTE("n = ", n, ", chance ", chance);
    check_lu(dominant<double>(random, n, chance, false, false));
    check_lu(dominant<Number>(random, n, chance, false, false));
    check_cholesky(dominant<double>(random, n, chance, true, true));
    check_cholesky(dominant<Number>(random, n, chance, true, true));
  }
}

TEST("an incomplete factorisation that breaks down says in which row, and why") {
  const std::vector<i64> begin{0, 2, 4};
  const std::vector<i32> columns{0, 1, 0, 1};
  auto refused = [&](std::vector<double> values, const char* part) {
    CHECK_THROWS((ilu0(SparseRows{2, begin.data(), columns.data()}, values.data())), Error, part);
  };
  refused({1, 1, 1, 1}, "ILU(0) breaks down in row 1: the pivot is zero");
  refused({0, 1, 1, 1}, "in row 0: the pivot is zero");
  refused({1e-310, 1, 1, 1}, "in row 0: the pivot or its reciprocal overflows");
  refused({1e-300, 1e300, 1e300, 1}, "in row 1: entries overflow");
  const std::vector<i32> turned{1, 0, 0, 1};
  std::vector<double> ones(4, 1.0);
  CHECK_THROWS((ilu0(SparseRows{2, begin.data(), turned.data()}, ones.data())), Error, "do not increase");
  const std::vector<i64> short_begin{0, 1, 2};
  const std::vector<i32> first{1, 0}, below{0, 0};
  CHECK_THROWS((ilu0(SparseRows{2, short_begin.data(), first.data()}, ones.data())), Error,
               "row 0: the matrix has no entry on");
  CHECK_THROWS((ic0(SparseRows{2, short_begin.data(), below.data()}, ones.data())), Error, "row 1: the last entry of the row");
  const std::vector<i64> lower_begin{0, 1, 3};
  const std::vector<i32> lower_columns{0, 0, 1};
  std::vector<double> indefinite{1, 2, 1};
  CHECK_THROWS((ic0(SparseRows{2, lower_begin.data(), lower_columns.data()}, indefinite.data())), Error,
               "IC(0) breaks down in row 1: the pivot is -3.0");
}
