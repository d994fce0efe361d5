// Products in single and half precision against those in double: by rows and by diagonals, with ranks of odd and of few rows.
#include "sordino/linalg/single_operator.hpp"

#include <cmath>

#include "products.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace products;

namespace {

/// What rounding does to a row of A x by differences: of x, of each entry, and of sums.
double allowed(const CsrView& A, i64 row, const std::vector<double>& x, CyclePrecision precision) {
  const double of_vectors = 0x1p-24 * (4 + double(A.begin(row + 1) - A.begin(row)));
  const double of_entries = precision == CyclePrecision::half ? 0x1p-11 : 0x1p-24;
  double sum = 0, size = 0;
  for (i64 k = A.begin(row); k < A.begin(row + 1); k++) {
    sum += A.values[k];
    if (A.indices[k] != row)
      size += std::abs(A.values[k]) * (std::abs(x[std::size_t(row)]) + std::abs(x[std::size_t(A.indices[k])]));
  }
  return (of_vectors + of_entries) * (size + std::abs(sum * x[std::size_t(row)]));
}

struct Found {
  std::vector<double> y, inverse_diagonal;
};

std::vector<double> unpacked(const std::vector<double>& words, i64 rows) {
  std::vector<double> all;
  for (i64 i = 0; i < rows; i++) {
    const Singles pair = std::bit_cast<Singles>(words[std::size_t(i / 2)]);
    all.push_back(double(pair.at[i % 2]));
  }
  return all;
}

Found product_of(Engine& engine, const CsrView& A, const Partition& p, const Diagonals& diagonals, CyclePrecision precision,
                 int exponent, const std::vector<double>& x) {
  Found found{std::vector<double>(x.size()), std::vector<double>(x.size())};
  engine.run([&](Rank& s) {
    const SingleOperator op(s, A, p, diagonals, precision, exponent);
    const Vec from = op.operand(s, "x"), to = op.result(s, "y");
    Recorded apply = s.record([&] {
      s.run(Nothing{}, push(from));
      op.apply(s, from, to);
    });
    const i64 first = p.first_row(s.id()), rows = p.rows(s.id());
    s.write(from, packed(x.data() + first, rows).data());
    s.replay(apply);
    std::vector<double> words(std::size_t(words_for(rows)));
    auto take = [&](Vec v, std::vector<double>& all) {
      s.read(v, words.data());
      const auto numbers = unpacked(words, rows);
      std::copy(numbers.begin(), numbers.end(), all.begin() + first);
    };
    take(to, found.y);
    take(op.inverse_diagonal(), found.inverse_diagonal);
  });
  return found;
}

void compare(const CsrMatrix& A, const Diagonals& diagonals, const Partition& p, fresh::Random& random) {
  const auto x = random.normals(A.n);
  for (auto precision : {CyclePrecision::single, CyclePrecision::half})
    for (int exponent : {0, -3, 5}) {
      host::HostEngine host({.ranks = p.ranks()});
      const Found found = product_of(host, A.view(), p, diagonals, precision, exponent, x);
      for (i64 i = 0; i < A.n; i++) {
        double wanted = 0, diagonal = 0;
        for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) {
          wanted += A.values[std::size_t(k)] * x[std::size_t(A.indices[std::size_t(k)])];
          if (A.indices[std::size_t(k)] == i) diagonal = A.values[std::size_t(k)];
        }
        CHECK(std::abs(std::ldexp(found.y[std::size_t(i)], exponent) - wanted) <= allowed(A.view(), i, x, precision));
        CHECK(std::abs(found.inverse_diagonal[std::size_t(i)] * std::ldexp(diagonal, -exponent) - 1) <= 0x1p-23);
      }
      model::Options o;
      o.ranks = p.ranks(), o.seed = 4, o.machine.jitter_s = 5e-6;
      model::ModelEngine model(o);
      CHECK(same_bits(product_of(model, A.view(), p, diagonals, precision, exponent, x).y, found.y));
    }
}

/// Ranks of any number of rows, one at least.
Partition uneven(fresh::Random& random, i64 n, int ranks) {
  std::vector<std::vector<i64>> first;
  for (int r = 0; r < ranks; r++) first.push_back({r == 0 ? 0 : random.whole(first.back()[0] + 1, n - (ranks - r))});
  return partition_at(n, first);
}

}  // namespace

TEST("single precision: products by rows, on ranks of any number of rows") {
  NOTE(fresh::said());
  fresh::Random random(891);
  for (int turn = 0; turn < 6; turn++)
    for (int ranks : {1, 2, 3, 5}) {
      const i64 n = random.whole(5, 200);
      NOTE("n = ", n, ", ", ranks, " ranks");
      compare(matrices::spd(random, n, 4, n), {}, uneven(random, n, ranks), random);
    }
}

TEST("single precision: products by diagonals, where their ghosts are behind each other, and where they are not") {
  NOTE(fresh::said());
  fresh::Random random(892);
  for (int turn = 0; turn < 6; turn++)
    for (int stencil : {7, 27})
      for (const char* storage : {"dia", "symdia"})
        for (int ranks : {1, 2, 3, 5}) {
          const CsrMatrix A = poisson(random.whole(1, 5), random.whole(1, 5), random.whole(5, 9), stencil, 30);
          NOTE("n = ", A.n, ", ", storage, ", ", ranks, " ranks");
          compare(A, diagonals_of(A.view(), storage), uneven(random, A.n, ranks), random);
        }
}

TEST("single precision: what a row adds up to is kept beside entries a million times as large") {
  const CsrMatrix A = poisson(8, 8, 8, 7, 1);
  CsrMatrix heavy = A;
  for (double& value : heavy.values) value *= 1e6;
  for (i64 i = 0; i < A.n; i++)  // each row adds up to 1
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      if (A.indices[std::size_t(k)] == i) {
        double others = 0;
        for (i64 j = A.indptr[std::size_t(i)]; j < A.indptr[std::size_t(i) + 1]; j++)
          if (j != k) others += heavy.values[std::size_t(j)];
        heavy.values[std::size_t(k)] = 1 - others;
      }
  const std::vector<double> ones(std::size_t(A.n), 1.0);
  for (const char* storage : {"csr", "dia"})
    for (auto precision : {CyclePrecision::single, CyclePrecision::half}) {
      host::HostEngine host({.ranks = 2});
      const Found found =
          product_of(host, heavy.view(), even_partition(A.n, 2), diagonals_of(heavy.view(), storage), precision, 0, ones);
      for (double y : found.y) CHECK(std::abs(y - 1) <= 0x1p-11);
    }
}

TEST("half precision: rows that add up to more than any entry are scaled by that") {
  CsrMatrix A = poisson(6, 6, 6, 27, 1);
  for (double& value : A.values) value = std::abs(value) + 0.9 * std::abs(A.values[0]);
  const std::vector<double> ones(std::size_t(A.n), 1.0);
  for (const char* storage : {"csr", "dia"}) {
    host::HostEngine host({.ranks = 2});
    const Found found =
        product_of(host, A.view(), even_partition(A.n, 2), diagonals_of(A.view(), storage), CyclePrecision::half, 0, ones);
    for (i64 i = 0; i < A.n; i++) {
      double sum = 0;
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++) sum += A.values[std::size_t(k)];
      CHECK_NEAR(found.y[std::size_t(i)], sum, 0x1p-10 * sum);
    }
  }
}
