// Maps between two spaces against long double, the same bits on any number of ranks and in any order of messages; inner rows
// while the others' halo is under way.
#include "sordino/linalg/csr_map.hpp"

#include "products.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

/// Up to `most` entries a row, near the place that it has among the columns, or none.
MapMatrix random_map(fresh::Random& random, i64 rows, i64 columns, i64 most, i64 reach) {
  MapMatrix A{.rows = rows, .columns = columns, .indptr = {0}};
  for (i64 i = 0; i < rows; i++) {
    std::vector<i32> row;
    const i64 middle = i * columns / rows;
    for (i64 k = random.whole(0, most); k > 0; k--)
      row.push_back(i32(std::clamp<i64>(middle + random.whole(-reach, reach), 0, columns - 1)));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    for (i32 column : row) A.indices.push_back(column), A.values.push_back(random.real(-1, 1));
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

/// y = plus + A x, or y = A x where `plus` is empty.
std::vector<double> mapped(Engine& engine, const MapView& A, const std::vector<double>& x, const std::vector<double>& plus) {
  const Partition rows = even_partition(A.rows, engine.size()), columns = even_partition(A.columns, engine.size());
  std::vector<double> y(std::size_t(A.rows));
  engine.run([&](Rank& rank) {
    const int row_space = rank.add_space(distributed_space(rows, rank.id())),
              column_space = rank.add_space(distributed_space(columns, rank.id()));
    const CsrMap map(rank, A, rows, row_space, columns, column_space);
    const Vec from = map.operand(rank, "x"), to = rank.vector("y", row_space), other = rank.vector("plus", row_space);
    Recorded body = rank.record([&] {
      rank.run(Nothing{}, push(from));
      map.apply(rank, from, to, plus.empty() ? Vec{} : other);
    });
    rank.write(from, x.data() + columns.first_row(rank.id()));
    if (!plus.empty()) rank.write(other, plus.data() + rows.first_row(rank.id()));
    rank.replay(body);
    rank.read(to, y.data() + rows.first_row(rank.id()));
    CHECK(map.bytes() == CsrMap::bytes_of(A, rows, rank.id(), false));
  });
  return y;
}

void check_map(const MapView& A, const std::vector<double>& x, const std::vector<double>& plus, const std::vector<double>& y) {
  for (i64 i = 0; i < A.rows; i++) {
    long double sum = plus.empty() ? 0 : plus[std::size_t(i)], size = std::abs(sum);
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) {
      const long double term = (long double)A.values[k] * x[std::size_t(A.indices[k])];
      sum += term, size += std::abs(term);
    }
    CHECK_NEAR((long double)y[std::size_t(i)], sum, size * double(A.indptr[i + 1] - A.indptr[i] + 1) * products::eps);
  }
}

}  // namespace

TEST("maps to more rows and to fewer are right to rounding, and the same bits on 1, 2, 3, 4 and 7 ranks") {
  NOTE(fresh::said());
  fresh::Random random(840);
  for (auto [rows, columns] : {std::pair<i64, i64>{7, 9}, {900, 70}, {70, 900}, {1000, 999}})
    for (i64 reach : {i64(3), columns}) {
      const MapMatrix A = random_map(random, rows, columns, 6, reach), R = transposed(A.view());
      const auto x = random.normals(columns), plus = random.normals(rows), r = random.normals(rows);
      host::HostEngine one({.ranks = 1});
      const auto y = mapped(one, A.view(), x, {}), z = mapped(one, A.view(), x, plus), s = mapped(one, R.view(), r, {});
      check_map(A.view(), x, {}, y);
      check_map(A.view(), x, plus, z);
      check_map(R.view(), r, {}, s);
      for (int ranks : {2, 3, 4, 7}) {
        NOTE(rows, " x ", columns, ", ", ranks, " ranks");
        host::HostEngine engine({.ranks = ranks, .timeout = 20});
        CHECK(products::same_bits(mapped(engine, A.view(), x, plus), z));
        for (u64 seed : {1, 2, 3}) {
          model::Options o;
          o.ranks = ranks, o.seed = seed, o.machine.jitter_s = 5e-6;
          model::ModelEngine modelled(o);
          CHECK(products::same_bits(mapped(modelled, R.view(), r, {}), s));
        }
      }
    }
}

TEST("a map's inner rows hide the halo on the virtual clock") {
  // Ranks' rows take 10 us, the journey 5: only those at the edge wait.
  fresh::Random random(841);
  const i64 n = 64 * 256;
  MapMatrix A{.rows = n, .columns = n, .indptr = {0}};
  for (i64 i = 0; i < n; i++) {
    for (i64 j = std::max<i64>(0, i - 1); j < std::min(n, i + 2); j++) A.indices.push_back(i32(j)), A.values.push_back(1);
    A.indptr.push_back(i64(A.indices.size()));
  }
  auto exposed = [&](double latency) {
    model::Options o;
    o.ranks = 2;
    o.machine.launch_s = o.machine.put_overhead_s = 0;
    o.machine.link_latency_s = latency;
    o.machine.link_bandwidth = 1e15;
    o.machine.memory_bandwidth = 12.0 * double(A.indptr.back()) / 2 / 10e-6;
    model::ModelEngine engine(o);
    mapped(engine, A.view(), random.normals(n), {});
    return engine.rank(0).ledger.exposed_halo;
  };
  CHECK_NEAR(exposed(5e-6), 0, 1e-9);
  CHECK(exposed(50e-6) > 30e-6);
}

TEST("a map that cannot be used is refused with a sentence") {
  const MapMatrix A{.rows = 2, .columns = 3, .indptr = {0, 2, 3}, .indices = {0, 2, 1}, .values = {1, 2, 3}};
  auto refuses = [](MapMatrix bad, const char* sentence) { CHECK_THROWS(validate(bad.view(), "P"), Error, sentence); };
  validate(A.view(), "P");
  MapMatrix bad = A;
  bad.indices[1] = 3;
  refuses(bad, "P: column index 3 in row 0 is out of range (it has 3 columns)");
  bad = A;
  bad.indices[1] = 0;
  refuses(bad, "P: columns of row 0 are not in increasing order");
  bad = A;
  bad.values[2] = HUGE_VAL;
  refuses(bad, "P holds a NaN or Inf in column 1 in row 1");
  bad = A;
  bad.indptr[1] = 4;
  refuses(bad, "P: indptr decreases at row 1");
}
