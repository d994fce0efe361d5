// An H-matrix that Python holds, and solvers view.
#pragma once
#include <memory>
#include <mutex>
#include <variant>

#include "convert.hpp"
#include "sordino/bem/surface.hpp"
#include "sordino/hmatrix/host_product.hpp"

namespace sordino::python {

template <class T>
using Triples = nb::ndarray<const T, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

/// Options of a build, of which most_rank, gpus and probes may be left out.
hmatrix::BuildOptions options_of(const nb::dict& given);
bem::SurfaceView view_of(const Triples<double>& points, const Triples<i64>& triangles);

/// All vectors are in the order of the matrix's tree. Arrays of values are doubles, of complex ones pairs of them.
class PyHMatrix {
 public:
  /// points [.][3] and triangles [n][3]; over several processes options may have a "part", of which "ranks" of each process,
  /// "distribution" and "cuts", empty or of all ranks, say what this one builds; `progress` is told shares from 0 to 1. With
  /// the kernel helmholtz, whose wavenumber is among the options, the matrix is complex.
  PyHMatrix(Triples<double> points, Triples<i64> triangles, const std::string& kernel, const nb::dict& options,
            const nb::object& progress);
  /// One that was written: `ranks` of its leaves, `statistics` as statistics() says, and `read`, which fills the array that it
  /// is called with.
  static std::unique_ptr<PyHMatrix> stored(Triples<double> points, Triples<i64> triangles, const std::string& kernel,
                                           const nb::dict& options, Array<i32> ranks, const nb::dict& statistics,
                                           const nb::object& read);
  /// Calls write(values) with all of them, some at a time, in arrays that live for the call alone.
  void values(const nb::object& write) const;
  /// The matrix, if its values are V; or null.
  template <class V>
  const hmatrix::HMatrixOf<V>* matrix() const {
    const auto* held = std::get_if<Held<V>>(&held_);
    return held ? held->matrix.get() : nullptr;
  }
  i64 size() const;
  /// Of a value: 2 of a complex one.
  int words() const { return held_.index() == 0 ? 1 : 2; }
  nb::dict statistics() const;
  /// Like the option; None of a whole matrix.
  nb::object part() const;
  i64 held_bytes() const;
  /// [leaves][5]: rows from and to, columns from and to, rank (-1: dense).
  nb::object blocks() const;
  /// [rows of leaves][6]: the same of the rows that a rank multiplies, and the rank.
  nb::object shares(int ranks, const std::string& distribution) const;
  nb::object order() const;
  nb::object diagonal() const;
  /// x [n][columns][words], as two dimensions; the result is flat.
  nb::object multiply(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> x, bool transposed) const;

 private:
  template <class V>
  struct Held {
    std::unique_ptr<hmatrix::HMatrixOf<V>> matrix;
    /// Made by the first product: many matrices are never multiplied by this process's threads.
    std::unique_ptr<hmatrix::HostProductOf<V>> product;
  };

  PyHMatrix() = default;
  /// Takes the matrix that make(generator) builds of the kernel's generator.
  template <class Make>
  void take(const std::string& kernel, const bem::SurfaceView& surface, double wavenumber, const Make& make);

  mutable std::variant<Held<double>, Held<hmatrix::Number>> held_;
  mutable std::once_flag multiplied_;
};

}  // namespace sordino::python
