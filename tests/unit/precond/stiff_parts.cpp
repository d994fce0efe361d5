#include "sordino/precond/stiff_parts.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "sordino/base/shared_cores.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Chains of rows that are coupled strongly, with numbers dealt at random; of each a weak coupling leads to the next one. Some
/// rows are alone, and `held` chains have more on their diagonals than their couplings.
CsrMatrix chains(fresh::Random& random, i64 rows, i64 count, i64 held) {
  std::vector<i64> number(static_cast<std::size_t>(rows));
  std::iota(number.begin(), number.end(), 0);
  for (i64 i = rows - 1; i > 0; i--) std::swap(number[std::size_t(i)], number[std::size_t(random.whole(0, i))]);
  std::vector<std::vector<std::pair<i32, double>>> found(static_cast<std::size_t>(rows));
  const auto couple = [&](i64 a, i64 b, double by) {
    const i64 i = number[std::size_t(a)], j = number[std::size_t(b)];
    found[std::size_t(i)].emplace_back(i32(j), -by);
    found[std::size_t(j)].emplace_back(i32(i), -by);
  };
  const i64 length = rows / (count + 1);  // the rest of the rows are alone
  for (i64 c = 0; c < count; c++) {
    for (i64 k = 1; k < length; k++) couple(c * length + k - 1, c * length + k, random.real(1, 2));
    if (c > 0) couple(c * length - 1, c * length, 1e-6);
  }
  CsrMatrix A;
  A.n = rows, A.indptr = {0};
  std::vector<i64> place(number.size());
  for (i64 k = 0; k < rows; k++) place[std::size_t(number[std::size_t(k)])] = k;
  for (i64 i = 0; i < rows; i++) {
    auto& row = found[std::size_t(i)];
    double diagonal = row.empty() ? 1 : 0;
    for (const auto& [column, value] : row) diagonal -= value;
    if (place[std::size_t(i)] < held * length) diagonal *= 2;
    row.emplace_back(i32(i), diagonal);
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) A.indices.push_back(column), A.values.push_back(value);
    A.indptr.push_back(i64(A.indices.size()));
  }
  return A;
}

}  // namespace

TEST("parts that are coupled strongly inside alone are counted, whatever the order of rows, on one thread and on several") {
  NOTE(fresh::said());
  fresh::Random random(1);
  for (i64 rows : {50, 3000, 9001}) {
    const i64 count = random.whole(2, 9), held = random.whole(0, 2);
    const CsrMatrix A = chains(random, rows, count, held);
    for (int sharers : {1, 2, 1000}) {
      SharedCores share(sharers);
      CHECK(count_stiff_parts(A.view()) == count - held);
    }
  }
}
