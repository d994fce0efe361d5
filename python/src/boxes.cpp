// sordino._core: rows in the order in which ranks own boxes of a grid.
#include "sordino/linalg/boxes.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>

#include "convert.hpp"

namespace sordino::python {
namespace {

/// Cells in x, y and z, and boxes.
std::pair<Extents, Extents> chosen(i64 n, const std::string& grid, const std::string& boxes, int ranks) {
  const Boxes b = choose_boxes(n, grid, boxes, ranks);
  return {b.grid, b.along};
}

/// The cell of each row, [n], and the first row of each box, and n.
nb::tuple rows_in_boxes(Array<i64> indptr, Array<i32> indices, const Extents& grid, const Extents& along) {
  BoxOrder order;
  {
    nb::gil_scoped_release release;
    order = order_in_boxes({.n = i64(indptr.size()) - 1, .indptr = indptr.data(), .indices = indices.data()}, {grid, along});
  }
  return nb::make_tuple(owned_array(std::move(order.cells)), order.cuts);
}

}  // namespace

void define_boxes(nb::module_& m) {
  using namespace nb::literals;
  m.def("extents", &parse_extents, "option"_a, "text"_a);
  m.def("choose_boxes", &chosen, "n"_a, "grid"_a, "boxes"_a, "ranks"_a);
  m.def("rows_in_boxes", &rows_in_boxes, "indptr"_a, "indices"_a, "grid"_a, "along"_a);
}

}  // namespace sordino::python
