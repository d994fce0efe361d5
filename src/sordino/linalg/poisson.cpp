#include "sordino/linalg/poisson.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/large_poisson.hpp"

namespace sordino {
namespace {

constexpr i64 least_of_a_thread = 1 << 15;  // cells

struct Box {
  i64 nx, ny, nz;
  int stencil;
  double contrast;

  bool inside(i64 x, i64 y, i64 z) const { return x >= 0 && y >= 0 && z >= 0 && x < nx && y < ny && z < nz; }
  i64 row(i64 x, i64 y, i64 z) const { return x + nx * (y + ny * z); }
  double k(i64 x, i64 y, i64 z) const {
    double u = (double(x) + 0.5) / double(nx) - 0.5, v = (double(y) + 0.5) / double(ny) - 0.5,
           w = (double(z) + 0.5) / double(nz) - 0.5;
    return u * u + v * v + w * w < 0.09 ? contrast : 1.0;
  }
  bool reaches(int a, int b, int c) const { return stencil == 27 || std::abs(a) + std::abs(b) + std::abs(c) <= 1; }

  /// Entries of a plane of cells.
  i64 entries(i64 z) const {
    const i64 along_x = 3 * nx - 2, along_y = 3 * ny - 2, along_z = 1 + (z > 0) + (z + 1 < nz);
    return stencil == 27 ? along_x * along_y * along_z : ny * along_x + nx * along_y + nx * ny * (along_z - 2);
  }

  /// Writes a cell's row and returns how many entries it has.
  i64 write(i64 x, i64 y, i64 z, i32* indices, double* values) const {
    const double mine = k(x, y, z);
    double sum = 0;
    i64 n = 0, diagonal = 0;
    for (int c = -1; c <= 1; c++)
      for (int b = -1; b <= 1; b++)
        for (int a = -1; a <= 1; a++) {
          if (!reaches(a, b, c)) continue;
          if (!a && !b && !c) {
            diagonal = n;
            indices[n++] = i32(row(x, y, z));
            continue;
          }
          const double other = k(x + a, y + b, z + c), face = 2 * mine * other / (mine + other);
          sum += face;
          if (!inside(x + a, y + b, z + c)) continue;
          indices[n] = i32(row(x + a, y + b, z + c));
          values[n++] = -face;
        }
    values[diagonal] = sum;
    return n;
  }
};

Box checked_box(i64 nx, i64 ny, i64 nz, int stencil, double contrast) {
  if (nx < 1 || ny < 1 || nz < 1) bad_argument("a grid needs at least one cell in each direction");
  if (stencil != 7 && stencil != 27) bad_argument("the stencil must be 7 or 27, not " + std::to_string(stencil));
  if (!(contrast > 0) || !std::isfinite(contrast)) bad_argument("the contrast must be a finite number > 0");
  if (double(nx) * double(ny) * double(nz) > double(std::numeric_limits<i32>::max()))
    throw Error(Errc::unsupported, "more than 2^31 cells are not supported");
  return {nx, ny, nz, stencil, contrast};
}

/// Entries before each plane, and in all.
std::vector<i64> entries_before(const Box& box) {
  std::vector<i64> before(std::size_t(box.nz) + 1, 0);
  for (i64 z = 0; z < box.nz; z++) before[std::size_t(z) + 1] = before[std::size_t(z)] + box.entries(z);
  return before;
}

void write_rows(const Box& box, const std::vector<i64>& before, i64* indptr, i32* indices, double* values) {
  indptr[0] = 0;
  auto planes = [&](i64 begin, i64 end) {
    i64 at = before[std::size_t(begin)];
    for (i64 z = begin; z < end; z++)
      for (i64 y = 0; y < box.ny; y++)
        for (i64 x = 0; x < box.nx; x++) {
          at += box.write(x, y, z, indices + at, values + at);
          indptr[box.row(x, y, z) + 1] = at;
        }
  };
  for_parts(0, box.nz, planes, std::max<i64>(1, least_of_a_thread / (box.nx * box.ny)));
}

}  // namespace

CsrMatrix poisson(i64 nx, i64 ny, i64 nz, int stencil, double contrast) {
  const Box box = checked_box(nx, ny, nz, stencil, contrast);
  const std::vector<i64> before = entries_before(box);
  CsrMatrix A;
  A.n = nx * ny * nz;
  A.indptr.resize(std::size_t(A.n) + 1);
  A.indices.resize(std::size_t(before.back()));
  A.values.resize(std::size_t(before.back()));
  write_rows(box, before, A.indptr.data(), A.indices.data(), A.values.data());
  return A;
}

LargeCsr large_poisson(i64 nx, i64 ny, i64 nz, int stencil, double contrast) {
  const Box box = checked_box(nx, ny, nz, stencil, contrast);
  const std::vector<i64> before = entries_before(box);
  const std::size_t rows = std::size_t(nx * ny * nz), entries = std::size_t(before.back());
  LargeCsr A{i64(rows), LargeArray<i64>(rows + 1), LargeArray<i32>(entries), LargeArray<double>(entries)};
  write_rows(box, before, A.indptr.data(), A.indices.data(), A.values.data());
  return A;
}

}  // namespace sordino
