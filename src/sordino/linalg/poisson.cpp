#include "sordino/linalg/poisson.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

struct Box {
  i64 nx, ny, nz;
  double contrast;

  bool inside(i64 x, i64 y, i64 z) const { return x >= 0 && y >= 0 && z >= 0 && x < nx && y < ny && z < nz; }
  i64 row(i64 x, i64 y, i64 z) const { return x + nx * (y + ny * z); }
  double k(i64 x, i64 y, i64 z) const {
    double u = (double(x) + 0.5) / double(nx) - 0.5, v = (double(y) + 0.5) / double(ny) - 0.5,
           w = (double(z) + 0.5) / double(nz) - 0.5;
    return u * u + v * v + w * w < 0.09 ? contrast : 1.0;
  }
};

}  // namespace

CsrMatrix poisson(i64 nx, i64 ny, i64 nz, int stencil, double contrast) {
  if (nx < 1 || ny < 1 || nz < 1) bad_argument("a grid needs at least one cell in each direction");
  if (stencil != 7 && stencil != 27) bad_argument("the stencil must be 7 or 27, not " + std::to_string(stencil));
  if (!(contrast > 0) || !std::isfinite(contrast)) bad_argument("the contrast must be a finite number > 0");
  if (double(nx) * double(ny) * double(nz) > double(std::numeric_limits<i32>::max()))
    throw Error(Errc::unsupported, "more than 2^31 cells are not supported");
  Box box{nx, ny, nz, contrast};
  CsrMatrix A;
  A.n = nx * ny * nz;
  A.indptr.reserve(std::size_t(A.n) + 1);
  A.indices.reserve(std::size_t(A.n) * stencil);
  A.values.reserve(std::size_t(A.n) * stencil);
  A.indptr.push_back(0);
  for (i64 z = 0; z < nz; z++)
    for (i64 y = 0; y < ny; y++)
      for (i64 x = 0; x < nx; x++) {
        double mine = box.k(x, y, z), sum = 0;
        std::size_t diagonal = 0;
        for (int c = -1; c <= 1; c++)
          for (int b = -1; b <= 1; b++)
            for (int a = -1; a <= 1; a++) {
              bool centre = !a && !b && !c;
              if (stencil == 7 && std::abs(a) + std::abs(b) + std::abs(c) > 1) continue;
              if (centre) {
                diagonal = A.values.size();
                A.indices.push_back(i32(box.row(x, y, z)));
                A.values.push_back(0);
                continue;
              }
              double other = box.k(x + a, y + b, z + c), face = 2 * mine * other / (mine + other);
              sum += face;
              if (!box.inside(x + a, y + b, z + c)) continue;
              A.indices.push_back(i32(box.row(x + a, y + b, z + c)));
              A.values.push_back(-face);
            }
        A.values[diagonal] = sum;
        A.indptr.push_back(i64(A.values.size()));
      }
  return A;
}

}  // namespace sordino
