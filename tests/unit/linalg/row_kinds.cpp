// Kinds of rows: how many there are, where there are too many, and that rows and kinds belong together.
#include "sordino/linalg/row_kinds.hpp"

#include "check.hpp"
#include "matrices.hpp"
#include "sordino/linalg/diagonals.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

/// A diagonal matrix with 1, 2, ... `kinds`, over and over.
CsrMatrix with_kinds(i64 n, i64 kinds) {
  matrices::Rows rows(std::size_t(n), std::map<i32, double>{});
  for (i64 i = 0; i < n; i++) rows[std::size_t(i)][i32(i)] = 1 + double(i % kinds);
  return matrices::csr(rows);
}

/// Entries by diagonals that `kinds` and `entries` give a row are those that it has.
void check_rows(const CsrView& A, const std::vector<i64>& offsets, i64 first, const std::vector<std::uint8_t>& kinds,
                const std::vector<double>& entries) {
  for (i64 i = first; i < first + i64(kinds.size()); i++) {
    std::size_t at = kinds[std::size_t(i - first)] * offsets.size();
    i64 k = A.begin(i);
    for (std::size_t d = 0; d < offsets.size(); d++) {
      bool there = k < A.begin(i + 1) && A.indices[k] == i + offsets[d];
      CHECK(entries[at + d] == (there ? A.values[k] : 0));
      k += there;
    }
    CHECK(k == A.begin(i + 1));
  }
}

}  // namespace

TEST("a stencil with constant coefficients has a kind of row for each side, edge and corner of its box") {
  for (int points : {7, 27}) {
    CsrMatrix A = poisson(48, 48, 48, points, 1.0);  // three parts for threads
    auto offsets = find_diagonals(A.view()).offsets;
    for (auto [first, end] : {std::pair<i64, i64>(0, A.n), std::pair<i64, i64>(48 * 48 + 7, 2 * 48 * 48)}) {
      std::vector<std::uint8_t> kinds(std::size_t(end - first), 255);
      std::vector<double> entries(most_row_kinds * offsets.size());
      CHECK(find_row_kinds(A.view(), {offsets}, first, end, {kinds.data(), entries.data()}) ==
            (first == 0 ? 27 : 8));  // not the corner
      check_rows(A.view(), offsets, first, kinds, entries);
    }
  }
}

TEST("256 kinds of rows are told apart, and one more is too many, in one part and in several") {
  for (i64 n : {i64(1000), i64(200'000)}) {
    for (i64 count : {1, 2, 255, 256}) CHECK(find_row_kinds(with_kinds(n, count).view(), {{0}}, 0, n) == int(count));
    for (i64 count : {257, 900}) CHECK(find_row_kinds(with_kinds(n, count).view(), {{0}}, 0, n) == most_row_kinds + 1);
    CsrMatrix last = with_kinds(n, 256);
    last.values.back() = -1;
    CHECK(find_row_kinds(last.view(), {{0}}, 0, n) == most_row_kinds + 1);
    CHECK(find_row_kinds(last.view(), {{0}}, 0, n - 1) == most_row_kinds);
  }
}

TEST("rows are of one kind if their entries are bit by bit, whether or not a zero is stored") {
  CsrMatrix A = matrices::csr({{{0, 2.0}, {1, 0.0}}, {{1, 2.0}}, {{2, 2.0}, {3, -0.0}}, {{3, 2.0}}});
  CHECK(find_row_kinds(A.view(), {{0, 1}}, 0, 2) == 1);
  CHECK(find_row_kinds(A.view(), {{0, 1}}, 0, 4) == 2);
}
