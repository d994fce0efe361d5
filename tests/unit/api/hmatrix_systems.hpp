// A small sphere's system, and what a solver of one says that refuses it.
#pragma once
#include "conformance/problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/bem/laplace.hpp"
#include "sordino/hmatrix/hmatrix.hpp"
#include "unit/hmatrix/dense.hpp"

namespace hmatrix_systems {

using namespace problems;

inline const hmatrix::HMatrix& sphere() {
  static const hmatrix::HMatrix H(bem::Laplace(surfaces::sphere(5, 8).view()), {.compression = {.eps = 1e-8}});
  return H;
}

inline System system_of(const hmatrix::HMatrix& H) {
  System s;
  s.hmatrix = &H;
  s.A.n = H.size();
  return s;
}

inline std::string refusal(System s, const Options& o) {
  try {
    Solver(s, o);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace hmatrix_systems

using namespace hmatrix_systems;
