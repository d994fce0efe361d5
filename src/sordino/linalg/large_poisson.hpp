// The problem of poisson.hpp where it takes gigabytes.
#pragma once
#include "sordino/linalg/large_csr.hpp"

namespace sordino {

/// What poisson() returns, in arrays that nobody touches before the threads that fill them.
LargeCsr large_poisson(i64 nx, i64 ny, i64 nz, int stencil, double contrast);

}  // namespace sordino
