// A matrix of gigabytes in CSR, whose arrays nobody writes before threads fill them.
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/linalg/csr.hpp"

namespace sordino {

/// As CsrMatrix of real entries, in large pages where the system has them.
struct LargeCsr {
  i64 n = 0;
  LargeArray<i64> indptr = {};     // [n + 1]
  LargeArray<i32> indices = {};    // [nnz]
  LargeArray<double> values = {};  // [nnz]

  CsrView view() const { return {.n = n, .indptr = indptr.data(), .indices = indices.data(), .values = values.data()}; }
};

}  // namespace sordino
