// A projector of complex vectors by their words, against one that is computed with complex numbers.
#include "sordino/linalg/word_basis.hpp"

#include <complex>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

using Value = std::complex<double>;
using Vector = std::vector<Value>;

Vector numbers(const double* words, i64 n) {
  Vector v;
  for (i64 i = 0; i < n; i++) v.emplace_back(words[2 * i], words[2 * i + 1]);
  return v;
}

Value product(const Vector& u, const Vector& v) {  // u^H v
  Value sum = 0;
  for (std::size_t i = 0; i < v.size(); i++) sum += std::conj(u[i]) * v[i];
  return sum;
}

/// v without its part along each of `from`, once after the other.
Vector without(Vector v, const std::vector<Vector>& from) {
  for (auto& u : from) {
    const Value c = product(u, v) / product(u, u).real();
    for (std::size_t i = 0; i < v.size(); i++) v[i] -= c * u[i];
  }
  return v;
}

double norm(const Vector& v) { return std::sqrt(product(v, v).real()); }

}  // namespace

TEST("what projects words projects complex numbers, with the conjugate where it belongs") {
  NOTE(fresh::said());
  fresh::Random random(520);
  for (i64 n : {3, 7, 61})
    for (int k : {1, 2}) {
      NOTE(n, " rows, ", k, " vectors");
      Basis given{k, 2 * n, 0, random.normals(2 * n * k)}, basis = word_basis(given, n);
      orthonormalise(basis, "test", 2);
      REQUIRE(basis.count == 2 * k);
      std::vector<Vector> orthogonal;
      for (int j = 0; j < k; j++) orthogonal.push_back(without(numbers(given.column(j), n), orthogonal));
      auto words = random.normals(2 * n);
      const Vector wanted = without(numbers(words.data(), n), orthogonal);
      for (int j = 0; j < basis.count; j++) {
        double c = 0;
        for (i64 i = 0; i < 2 * n; i++) c += basis.column(j)[i] * words[std::size_t(i)];
        for (i64 i = 0; i < 2 * n; i++) words[std::size_t(i)] -= c * basis.column(j)[i];
      }
      Vector off = numbers(words.data(), n);
      for (i64 i = 0; i < n; i++) off[std::size_t(i)] -= wanted[std::size_t(i)];
      CHECK(norm(off) < 1e-13 * std::sqrt(double(n)));
      for (auto& u : orthogonal) CHECK(std::abs(product(u, numbers(words.data(), n))) < 1e-12 * norm(u) * norm(wanted));
    }
}

TEST("real vectors stand for complex ones, and a refusal counts vectors as the caller does") {
  Basis real{1, 3, 0, {1, 2, 2}}, basis = word_basis(real, 3);
  CHECK(basis.rows == 6);
  CHECK(basis.values == std::vector<double>{1, 0, 2, 0, 2, 0, 0, 1, 0, 2, 0, 2});
  Basis turned{2, 4, 0, {1, 2, 3, 4, -2, 1, -4, 3}};  // v and i v are one vector
  turned = word_basis(turned, 2);
  CHECK_THROWS(orthonormalise(turned, "nullspace", 2), Error, "nullspace: vector 1 (counted from 0) depends");
  Basis nothing{2, 4, 0, {1, 2, 3, 4, 0, 0, 0, 0}};
  nothing = word_basis(nothing, 2);
  CHECK_THROWS(orthonormalise(nothing, "nullspace", 2), Error, "nullspace: vector 1 (counted from 0) is zero");
}
