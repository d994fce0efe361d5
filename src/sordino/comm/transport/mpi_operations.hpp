// How MPI's own all-reduce folds values with the bits of every other algorithm.
#pragma once
#include <mpi.h>

#include "sordino/runtime/scalar.hpp"

namespace sordino::mpi {

struct Folding {
  MPI_Datatype type;
  MPI_Op operation;
};

/// Sums and products are MPI's own, of whole numbers as unsigned ones, which wrap around. So are their minima and maxima; those
/// of floating-point numbers are ours, for MPI says nothing of NaNs and zeros. Called within a Calling.
Folding folding(Fold fold, Scalar type);

}  // namespace sordino::mpi
