// sordino._core.HMatrixProducts: products with an H-matrix on an engine; and dot products of whole vectors there.
#include "sordino/api/hmatrix_products.hpp"

#include <nanobind/stl/vector.h>

#include "callers_vector.hpp"
#include "hmatrix.hpp"
#include "of_process.hpp"
#include "sordino/api/dots_times.hpp"

namespace sordino::python {
namespace {

class PyHMatrixProducts {
 public:
  /// Of the matrix, or of its transpose, which is made for that: as many bytes again.
  PyHMatrixProducts(const PyHMatrix& matrix, const nb::dict& options, bool transposed)
      : words_(matrix.words() * matrix.size()) {
    Options o;
    update(o, options);
    nb::gil_scoped_release release;
    auto make = [&]<class V>(const hmatrix::HMatrixOf<V>* held) {
      if (!held) return;
      if (transposed) {
        const auto turned = std::make_shared<const hmatrix::HMatrixOf<V>>(*held, hmatrix::Transposed{});
        transposed_ = turned;
        held = turned.get();
      }
      products_ = OfProcess<HMatrixProducts>(new HMatrixProducts(*held, o));
    };
    make(matrix.matrix<double>());
    make(matrix.matrix<hmatrix::Number>());
  }

  void multiply(Vector<const double> x, Vector<double> y, int columns) {
    require_words(x, words_ * columns, "x");
    require_words(y, words_ * columns, "y");
    nb::gil_scoped_release release;
    products_->multiply(x.data(), y.data(), columns);
  }

  double time_product(int pairs, int columns) {
    nb::gil_scoped_release release;
    return products_->time_product(pairs, columns);
  }

  std::vector<i64> held_bytes() const { return products_->held_bytes(); }
  int most_columns() const { return products_->most_columns(); }
  int ranks() const { return products_->ranks(); }

 private:
  i64 words_;                               // of a vector
  std::shared_ptr<const void> transposed_;  // the matrix, if it was made for these products; it outlives them
  OfProcess<HMatrixProducts> products_;
};

double dots_seconds(const nb::dict& options, i64 n, bool shared, int pairs) {
  Options o;
  update(o, options);
  nb::gil_scoped_release release;
  return time_dots(o, n, shared, pairs);
}

}  // namespace

void define_hmatrix_products(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyHMatrixProducts>(m, "HMatrixProducts")
      .def(nb::init<const PyHMatrix&, nb::dict, bool>(), "matrix"_a, "options"_a, "transposed"_a, nb::keep_alive<1, 2>())
      .def("multiply", &PyHMatrixProducts::multiply, "x"_a, "y"_a, "columns"_a)
      .def("time_product", &PyHMatrixProducts::time_product, "pairs"_a, "columns"_a)
      .def("held_bytes", &PyHMatrixProducts::held_bytes)
      .def("most_columns", &PyHMatrixProducts::most_columns)
      .def("ranks", &PyHMatrixProducts::ranks);
  m.def("time_dots", &dots_seconds, "options"_a, "n"_a, "shared"_a, "pairs"_a);
}

}  // namespace sordino::python
