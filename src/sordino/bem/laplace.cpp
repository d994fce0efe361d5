#include "sordino/bem/laplace.hpp"

#include <numbers>

namespace sordino::bem {

void Laplace::entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const {
  constexpr double scale = 1 / (4 * std::numbers::pi * vacuum_permittivity);
  for (i32 i : rows)
    for (i32 j : columns) *out++ = scale * triangles_.all[std::size_t(j)].potential(triangles_.centroids[std::size_t(i)]);
}

}  // namespace sordino::bem
