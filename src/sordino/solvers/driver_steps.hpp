// The driver's own steps.
#pragma once
#include "sordino/linalg/nullspace.hpp"
#include "sordino/solvers/method.hpp"

namespace sordino {

struct TrueResidual {  // ||b - A x||^2, without storing it
  In b;
  Whole Ax;
  static constexpr double flops = 3;
  SORDINO_HD Sums<1> row(i32 i) {
    double e = b[i] - Ax[i];
    return {e * e};
  }
};

struct Swap {
  InOut a, b;
  SORDINO_HD void row(i32 i) {
    double t = a[i];
    a[i] = b[i];
    b[i] = t;
  }
};

struct Zero {
  Out x;
  SORDINO_HD void row(i32 i) { x[i] = 0; }
};

using DriverKernels = KernelList<Kernel<Shown>, Kernel<Zero>, Kernel<Nothing, ConvergedSpd>, Kernel<Nothing, ConvergedBi>,
                                 Kernel<Nothing, Converged>, Kernel<TrueResidual>, Kernel<Swap>, Kernel<Scaled>,
                                 Kernel<KeepBest>, Kernel<LowerBest>, Kernel<KeepNorm>, Kernel<Deflate>>;

}  // namespace sordino
