#include "sordino/precond/stiff_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace sordino {
namespace {

constexpr double joins = 0.1;   // of the largest couplings of both rows
constexpr double stiff = 0.01;  // of a part's diagonal, what its block adds up to

/// Rows in disjoint parts, each named by one of its rows (Tarjan 1975).
class Parts {
 public:
  explicit Parts(i64 rows) : above_(std::size_t(rows)) { std::iota(above_.begin(), above_.end(), 0); }
  i64 of(i64 row) {
    for (i64* at = &above(row); *at != row; at = &above(row)) row = *at = above(*at);
    return row;
  }
  void join(i64 a, i64 b) {
    a = of(a), b = of(b);
    above(std::max(a, b)) = std::min(a, b);
  }

 private:
  i64& above(i64 row) { return above_[std::size_t(row)]; }
  std::vector<i64> above_;
};

/// act(row, column, value) for all entries off the diagonal.
template <class Act>
void for_couplings(const CsrView& A, const Act& act) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
      if (A.indices[k] != i) act(std::size_t(i), std::size_t(A.indices[k]), -A.values[k]);
}

Parts joined_parts(const CsrView& A) {
  std::vector<double> most(std::size_t(A.n), 0.0);
  for_couplings(A, [&](std::size_t i, std::size_t, double coupling) { most[i] = std::max(most[i], coupling); });
  Parts parts(A.n);
  for_couplings(A, [&](std::size_t i, std::size_t j, double coupling) {
    if (coupling > 0 && coupling >= joins * std::max(most[i], most[j])) parts.join(i64(i), i64(j));
  });
  return parts;
}

struct Block {
  i64 rows = 0;
  double sum = 0, diagonal = 0;
};

}  // namespace

i64 count_stiff_parts(const CsrView& A) {
  Parts parts = joined_parts(A);
  std::vector<Block> blocks(static_cast<std::size_t>(A.n));
  for (i64 i = 0; i < A.n; i++) {
    const i64 part = parts.of(i);
    Block& block = blocks[std::size_t(part)];
    block.rows++;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      if (A.indices[k] == i) block.diagonal += A.values[k];
      if (parts.of(A.indices[k]) == part) block.sum += A.values[k];
    }
  }
  return std::count_if(blocks.begin(), blocks.end(),
                       [](const Block& block) { return block.rows > 1 && block.sum < stiff * block.diagonal; });
}

}  // namespace sordino
