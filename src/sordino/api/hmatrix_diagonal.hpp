// Jacobi of an H-matrix, whose diagonal lies in dense leaves.
#pragma once
#include <memory>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/precond/given.hpp"

namespace sordino {

/// `space`: of the words of its rows; of a real matrix's rows, where vectors hold several columns of them.
template <class V>
std::unique_ptr<Preconditioner> inverse_diagonal(Rank& rank, int space, const hmatrix::HMatrixOf<V>& matrix, Factors factors) {
  std::vector<V> d = matrix.diagonal();
  for (V& entry : d) entry = hmatrix::quotient(V{1}, entry);
  return std::make_unique<GivenDiagonal>(rank, space, hmatrix::words(d.data()), factors);
}

}  // namespace sordino
