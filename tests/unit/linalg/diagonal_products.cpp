#include "sordino/linalg/diagonal_ways.hpp"

#include <vector>

#include "check.hpp"
#include "unit/fresh.hpp"

namespace {

using namespace sordino;

/// Row by row, as a loop without registers of several numbers has it.
double row_of(const std::vector<DiagonalPart>& diagonals, i32 i) {
  double sum = 0;
  for (const DiagonalPart& d : diagonals) sum += (d.values ? d.values[i] : 1.0) * d.x[i];
  return sum;
}

}  // namespace

TEST("diagonals side by side have the bits of row after row, whatever their number and that of rows") {
  NOTE(fresh::said());
  fresh::Random random(610);
  for (i32 count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 19, 26, 27})
    for (i32 rows : {0, 1, 2, 3, 7, 8, 9, 31, 255, 256, 511, 512, 513, 1100}) {
      NOTE("count = ", count, ", rows = ", rows);
      const std::vector<double> values = random.normals(count * (rows + 1)), x = random.normals(rows + 2 * count + 1);
      std::vector<DiagonalPart> diagonals;
      for (i32 d = 0; d < count; d++)
        diagonals.push_back(
            {random.chance(0.1) ? nullptr : values.data() + d * (rows + 1), x.data() + random.whole(0, 2 * count)});
      std::vector<AddDiagonals> ways = ways_to_add_diagonals();
      ways.push_back(add_diagonals);
      for (AddDiagonals add : ways) {
        std::vector<double> y(std::size_t(rows + 1), 7.0);
        add(diagonals.data(), count, y.data(), rows);
        for (i32 i = 0; i < rows; i++) CHECK(y[std::size_t(i)] == row_of(diagonals, i));
        CHECK(y.back() == 7.0);
      }
    }
}
