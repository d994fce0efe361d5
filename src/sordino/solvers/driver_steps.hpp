// The driver's own steps.
#pragma once
#include "sordino/solvers/method.hpp"

namespace sordino {

struct Swap {
  InOut a, b;
  SORDINO_HD void row(i32 i) {
    double t = a[i];
    a[i] = b[i];
    b[i] = t;
  }
};

using DriverKernels =
    KernelList<Kernel<Shown>, Kernel<Nothing, ConvergedSpd>, Kernel<Nothing, ConvergedBi>, Kernel<Nothing, Converged>,
               Kernel<Swap>, Kernel<Scaled>, Kernel<KeepBest>, Kernel<LowerBest>, Kernel<KeepNorm>>;

}  // namespace sordino
