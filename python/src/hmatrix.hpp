// An H-matrix that Python holds, and solvers view.
#pragma once
#include <memory>

#include "convert.hpp"
#include "sordino/hmatrix/host_product.hpp"

namespace sordino::python {

/// All vectors are in the order of the matrix's tree.
class PyHMatrix {
 public:
  /// points [.][3] and triangles [n][3]; `progress` is told shares from 0 to 1.
  PyHMatrix(nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> points,
            nb::ndarray<const i64, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> triangles, const std::string& kernel,
            const nb::dict& options, const nb::object& progress);
  /// One that was written: `ranks` of its leaves, `statistics` as statistics() says, and `read`, which fills the array that it
  /// is called with.
  static std::unique_ptr<PyHMatrix> stored(nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> points,
                                           nb::ndarray<const i64, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu> triangles,
                                           const std::string& kernel, const nb::dict& options, Array<i32> ranks,
                                           const nb::dict& statistics, const nb::object& read);
  /// Calls write(values) with all of them, some at a time, in arrays that live for the call alone.
  void values(const nb::object& write) const;
  const hmatrix::HMatrix& matrix() const { return *matrix_; }
  nb::dict statistics() const;
  /// [leaves][5]: rows from and to, columns from and to, rank (-1: dense).
  nb::object blocks() const;
  nb::object order() const;
  /// x [n][columns]; the result is flat.
  nb::object multiply(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> x, bool transposed) const;

 private:
  PyHMatrix() = default;
  std::unique_ptr<hmatrix::HMatrix> matrix_;
  std::unique_ptr<hmatrix::HostProduct> product_;
};

}  // namespace sordino::python
