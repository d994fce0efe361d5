#include "sordino/precond/stiff_parts.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread
constexpr double joins = 0.1;        // of the largest couplings of both rows
constexpr double stiff = 0.01;       // of a part's diagonal, what its block adds up to

/// Rows in disjoint parts, each named by its first row (Tarjan 1975).
class Parts {
 public:
  explicit Parts(i64 rows) : above_(std::size_t(rows)) { std::iota(above_.begin(), above_.end(), 0); }
  i64 of(i64 row) {
    for (i64* at = &above(row); *at != row; at = &above(row)) row = *at = above(*at);
    return row;
  }
  /// Of a row that names its part; returns who names it then.
  i64 join(i64 named, i64 row) {
    const i64 other = of(row);
    above(std::max(named, other)) = std::min(named, other);
    return std::min(named, other);
  }
  /// [rows] Their names.
  std::vector<i64> all() && {
    for (i64& row : above_) row = above(row);  // which is not behind it
    return std::move(above_);
  }

 private:
  i64& above(i64 row) { return above_[std::size_t(row)]; }
  std::vector<i64> above_;
};

/// The largest coupling of each row, or 0.
std::vector<double> largest_couplings(const CsrView& A) {
  std::vector<double> most(std::size_t(A.n), 0.0);
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        for (i64 i = begin; i < end; i++)
          for (i64 k = A.begin(i); k < A.begin(i + 1); k++)
            if (A.indices[k] != i) most[std::size_t(i)] = std::max(most[std::size_t(i)], -A.values[k]);
      },
      least_rows);
  return most;
}

/// [rows] The part that each row is in. Threads join their own rows; what couples them to others waits.
std::vector<i64> joined_parts(const CsrView& A) {
  const std::vector<double> most = largest_couplings(A);
  Parts parts(A.n);
  std::vector<std::pair<i64, i64>> across;
  std::mutex mutex;
  for_parts(
      0, A.n,
      [&](i64 begin, i64 end) {
        std::vector<std::pair<i64, i64>> others;
        for (i64 i = begin; i < end; i++) {
          i64 part = parts.of(i);
          for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
            const i64 j = A.indices[k];
            const double coupling = -A.values[k];
            const bool is_joined =
                j != i && coupling > 0 && coupling >= joins * std::max(most[std::size_t(i)], most[std::size_t(j)]);
            if (!is_joined) continue;
            if (j >= begin && j < end)
              part = parts.join(part, j);
            else
              others.emplace_back(i, j);
          }
        }
        std::lock_guard lock(mutex);
        across.insert(across.end(), others.begin(), others.end());
      },
      least_rows);
  for (const auto& [i, j] : across) parts.join(parts.of(i), j);
  return std::move(parts).all();
}

struct Block {
  i64 rows = 0;
  double sum = 0, diagonal = 0;
};

}  // namespace

i64 count_stiff_parts(const CsrView& A) {
  const std::vector<i64> parts = joined_parts(A);
  std::vector<Block> blocks(static_cast<std::size_t>(A.n));
  for (i64 i = 0; i < A.n; i++) {
    const i64 part = parts[std::size_t(i)];
    Block block = blocks[std::size_t(part)];
    block.rows++;
    for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
      if (A.indices[k] == i) block.diagonal += A.values[k];
      if (parts[std::size_t(A.indices[k])] == part) block.sum += A.values[k];
    }
    blocks[std::size_t(part)] = block;
  }
  return std::count_if(blocks.begin(), blocks.end(),
                       [](const Block& block) { return block.rows > 1 && block.sum < stiff * block.diagonal; });
}

}  // namespace sordino
