// Null vectors as Python hands them over.
#pragma once
#include <nanobind/ndarray.h>

#include "sordino/linalg/nullspace.hpp"

namespace sordino::python {

/// Vectors by columns, (k, rows) in memory; of None none.
inline Basis basis_of(const nanobind::object& given) {
  namespace nb = nanobind;
  if (given.is_none()) return {};
  auto vectors = nb::cast<nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(given);
  auto count = i64(vectors.shape(0)), rows = i64(vectors.shape(1));
  return {int(count), rows, 0, std::vector<double>(vectors.data(), vectors.data() + count * rows)};
}

}  // namespace sordino::python
