#include "sordino/precond/row_starts.hpp"

#include <algorithm>
#include <vector>

#include "sordino/base/parallel.hpp"

namespace sordino {

constexpr i64 block = 1 << 14;  // rows whose entries are counted together

void add_up(LargeArray<i64>& starts) {
  const i64 rows = i64(starts.size()) - 1, blocks = (rows + block - 1) / block;
  std::vector<i64> before(std::size_t(blocks) + 1, 0);
  auto for_blocks = [&](const auto& act) {
    for_parts(
        0, blocks,
        [&](i64 begin, i64 end) {
          for (i64 b = begin; b < end; b++) act(std::size_t(b), b * block, std::min((b + 1) * block, rows));
        },
        1);
  };
  for_blocks([&](std::size_t b, i64 first, i64 last) {
    for (i64 row = first; row < last; row++) before[b + 1] += starts[std::size_t(row) + 1];
  });
  for (std::size_t b = 0; b < std::size_t(blocks); b++) before[b + 1] += before[b];
  starts[0] = 0;
  for_blocks([&](std::size_t b, i64 first, i64 last) {
    i64 sum = before[b];
    for (i64 row = first; row < last; row++) starts[std::size_t(row) + 1] = sum += starts[std::size_t(row) + 1];
  });
}

}  // namespace sordino
