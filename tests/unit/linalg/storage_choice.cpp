// What storage=auto takes, by the diagonals of a matrix, how they are filled, and the rows of a rank.
#include "sordino/linalg/storage_choice.hpp"

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The main diagonal, and `entries` on the one above and on the one below it.
CsrMatrix filled(i64 n, i64 entries) {
  matrices::Rows rows(std::size_t(n), std::map<i32, double>{});
  for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = 4;
  for (i64 i = 0; i < entries; i++) rows[std::size_t(i)][i32(i + 1)] = rows[std::size_t(i + 1)][i32(i)] = -1;
  return matrices::csr(rows);
}

}  // namespace

TEST("as measured: dia up to 29 MB of a rank, and symdia from 117 MB on where the matrix is symmetric") {
  CsrMatrix A = poisson(12, 12, 12, 7, 10.0);
  for (auto [rows, name] : {std::pair(i64(64 * 64 * 64), "dia"), std::pair(i64(128 * 128 * 128 / 4), "dia"),
                            std::pair(i64(128 * 128 * 128), "symdia"), std::pair(i64(256 * 256 * 256 / 4), "symdia")}) {
    StorageChoice found = choose_storage(A.view(), "auto", rows);
    CHECK(found.name == name);
    CHECK(found.diagonals.offsets == std::vector<i64>{-144, -12, -1, 0, 1, 12, 144});
    CHECK(found.diagonals.symmetric == (found.name == "symdia"));
    CHECK(has(found.why, "its 7 diagonals take "));
  }
  A.values[1] *= 1 + 1e-15;
  StorageChoice skewed = choose_storage(A.view(), "auto", 128 * 128 * 128);
  CHECK(skewed.name == "dia");
  CHECK(!skewed.diagonals.symmetric);
  CHECK(has(skewed.why, "117 MB of each rank, and it is not symmetric"));
}

TEST("diagonals hang on their bytes, not on their number: 27 of them are symdia from fewer rows on") {
  CsrMatrix A = poisson(10, 10, 10, 27, 1.0);
  CHECK(choose_storage(A.view(), "auto", 200'000).name == "dia");
  CHECK(choose_storage(A.view(), "auto", 300'000).name == "symdia");
}

TEST("a diagonal is worth it from two thirds of its places on") {
  CHECK(choose_storage(filled(30, 20).view(), "auto", 30).name == "dia");
  StorageChoice less = choose_storage(filled(30, 19).view(), "auto", 30);
  CHECK(less.name == "csr");
  CHECK(less.diagonals.empty());
  CHECK(has(less.why, "the diagonal of column - row = -1 has 19 entries in 30 rows"));
  CHECK(choose_storage(poisson(40, 2, 40, 7, 1.0).view(), "auto", 3200).name == "csr");  // y has two cells
}

TEST("rows stay rows where diagonals are many, or numbers complex") {
  NOTE(fresh::said());
  fresh::Random random(66);
  CHECK(has(choose_storage(matrices::spd(random, 400, 6, 400).view(), "auto", 400).why, "more than 27 diagonals"));
  CsrMatrix complex{.n = 1, .indptr = {0, 1}, .indices = {0}, .values = {1, 2}, .words = 2};
  CHECK(choose_storage(complex.view(), "auto", 1).name == "csr");
}

TEST("a diagonal of zeros without its mirror has equal mirrors, and is no pair") {
  matrices::Rows rows(40, std::map<i32, double>{});
  for (i32 i = 0; i < 40; i++) rows[std::size_t(i)][i] = 1;
  for (i32 i = 0; i < 39; i++) rows[std::size_t(i)][i + 1] = 0;
  CsrMatrix A = matrices::csr(rows);
  CHECK(has_equal_mirrors(A.view()));
  CHECK(choose_storage(A.view(), "auto", 100'000'000).name == "dia");
}

TEST("what is asked for is taken, or refused") {
  CsrMatrix A = filled(30, 5);
  for (const char* name : {"csr", "dia", "symdia", "constant"}) CHECK(choose_storage(A.view(), name, 30).name == name);
  A.values[1] = 7;
  CHECK_THROWS(choose_storage(A.view(), "symdia", 30), Error, "use storage dia");
}

TEST("diagonals are found and counted alike on any number of threads") {
  CsrMatrix A = poisson(48, 48, 48, 7, 1.0);  // three parts
  FoundDiagonals found = find_diagonals(A.view());
  CHECK(found.offsets == std::vector<i64>{-2304, -48, -1, 0, 1, 48, 2304});
  i64 side = 47 * 48 * 48;
  CHECK(found.entries == std::vector<i64>{side, side, side, A.n, side, side, side});
  CHECK(has_equal_mirrors(A.view()));
  A.values.back() += 1;
  CHECK(has_equal_mirrors(A.view()));
  A.values[A.values.size() - 2] += 1;  // of the last row, with its neighbour
  CHECK(!has_equal_mirrors(A.view()));
}

TEST("a main diagonal that will be 1 everywhere takes no memory, but where it is the only one") {
  CsrMatrix A = poisson(12, 12, 12, 7, 10.0);
  const i64 rows = 1'000'000;
  CHECK(choose_storage(A.view(), "auto", rows).name == "symdia");  // 56 MB by dia
  CHECK(choose_storage(A.view(), "auto", rows, true).name == "dia");
  for (const char* asked : {"auto", "dia", "symdia"}) {
    CHECK(choose_storage(A.view(), asked, rows, true).diagonals.unit);
    CHECK(!choose_storage(A.view(), asked, rows).diagonals.unit);
    CHECK(!choose_storage(filled(100, 0).view(), asked, rows, true).diagonals.unit);
  }
}
