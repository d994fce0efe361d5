// What Python gives a solver: a matrix, or functions that stand for one, and the arrays that are viewed.
#pragma once
#include <nanobind/stl/tuple.h>

#include "basis.hpp"
#include "callers_vector.hpp"
#include "hmatrix.hpp"
#include "sordino/api/system.hpp"

namespace sordino::python {

using Callable = std::shared_ptr<nb::object>;
/// A Python object that threads without the GIL may copy and drop.
inline Callable shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* o) {
            nb::gil_scoped_acquire acquire;
            delete o;
          }};
}

template <class T>
nb::object view(T* words, i64 n) {
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(words, {std::size_t(n)}), nb::rv_policy::reference);
}

/// Calls f(x, y), arrays of n doubles that live for the call alone: it fills y. What it raises fails the ranks: Python's side
/// keeps the errors of users.
inline HostFunction host_function(const Callable& f, i64 n) {
  if (f->is_none()) return {};
  return [f, n](const double* x, double* y) {
    nb::gil_scoped_acquire acquire;
    try {
      (*f)(view(x, n), view(y, n));
    } catch (nb::python_error& raised) {
      throw Error(Errc::peer_failed, raised.what());
    }
  };
}

using PyCsr = std::tuple<Array<i64>, Array<i32>, Array<double>>;
/// Cells in x, y and z; diagonal, x, y and z; whether it is periodic in x, y and z.
using PyGrid = std::tuple<std::vector<i64>, std::vector<nb::object>, std::vector<bool>>;
/// Arrays of the host or of a GPU that are viewed.
using Viewed = std::vector<Vector<const double>>;

/// Of n cells. `viewed`: the arrays that it is of.
inline GridMatrix grid_of(const PyGrid& given, i64 n, Viewed& viewed) {
  const auto& [cells, arrays, periodic] = given;
  GridMatrix grid{.cells = {cells.at(0), cells.at(1), cells.at(2)}};
  for (std::size_t d = 0; d < 3; d++) grid.periodic[d] = periodic.at(d);
  const double** const to[] = {&grid.diagonal, &grid.ahead[0], &grid.ahead[1], &grid.ahead[2]};
  for (std::size_t k = 0; k < 4; k++) {
    const nb::object& array = arrays.at(k);
    if (array.is_none()) continue;
    viewed.push_back(nb::cast<Vector<const double>>(array));
    require_words(viewed.back(), n, "an array of the grid's matrix");
    *to[k] = viewed.back().data();
  }
  if (!grid.diagonal) bad_argument("the grid's matrix needs its diagonal");
  return grid;
}

/// P, its shape, and the matrix of a level of a hierarchy.
using PyLevel = std::tuple<PyCsr, std::tuple<i64, i64>, PyCsr>;

/// The arrays of a matrix, and what else Python gives a solver: product and preconditioner (functions), diagonal, inverse
/// (three arrays of CSR), grid_matrix (cells, the arrays diagonal, x, y and z of the host or of a GPU, or None where a direction
/// has one cell, and which directions are periodic), hierarchy (of each level below A P, its shape, and the matrix), nullspace and left_nullspace
/// (arrays of shape (k, n)), cuts, cells, look_every, look_x, and words: 2 where all values are complex, and all arrays of
/// them, here and in a solve, pairs of doubles.
struct GivenSystem {
  GivenSystem(Array<i64> indptr, Array<i32> indices, Array<double> data, i64 n, const nb::dict& given)
      : indptr_(indptr), indices_(indices), data_(data) {
    auto get = [&](const char* name) { return nb::object(given.contains(name) ? given[name] : nb::none()); };
    if (nb::object w = get("words"); !w.is_none()) words_ = nb::cast<int>(w);
    system.A.n = n;
    system.A.words = words_;
    functions = {shared(get("product")), shared(get("preconditioner"))};
    system.product = host_function(functions[0], system.words());
    system.preconditioner = host_function(functions[1], system.words());
    if (nb::object d = get("diagonal"); !d.is_none()) {
      auto values = nb::cast<Array<double>>(d);
      system.diagonal.assign(values.data(), values.data() + values.size());
    }
    if (nb::object inverse = get("inverse"); !inverse.is_none()) {
      auto [ptr, columns, values] = nb::cast<std::tuple<Array<i64>, Array<i32>, Array<double>>>(inverse);
      require_csr(ptr, columns, values, n);
      inverse_ = {ptr, columns, values};
      system.inverse = {n, ptr.data(), columns.data(), values.data(), 0, -1, words_};
    }
    if (nb::object g = get("grid_matrix"); !g.is_none()) system.grid = grid_of(nb::cast<PyGrid>(g), n, grid_);
    if (nb::object h = get("hierarchy"); !h.is_none()) take_hierarchy(nb::cast<std::vector<PyLevel>>(h));
    if (nb::object h = get("hmatrix"); !h.is_none()) {
      const auto& held = nb::cast<const PyHMatrix&>(h);
      system.hmatrix = held.matrix<double>();
      system.complex_hmatrix = held.matrix<hmatrix::Number>();
      hmatrix_ = h;
    }
    if (nb::object h = get("coarse"); !h.is_none()) {
      const auto& held = nb::cast<const PyHMatrix&>(h);
      system.coarse = held.matrix<double>();
      system.complex_coarse = held.matrix<hmatrix::Number>();
      coarse_ = h;
    }
    system.nullspace = {basis_of(get("nullspace")), basis_of(get("left_nullspace"))};
    if (nb::object cuts = get("cuts"); !cuts.is_none()) system.cuts = nb::cast<std::vector<i64>>(cuts);
    if (nb::object cells = get("cells"); !cells.is_none()) {
      cells_ = nb::cast<Array<i64>>(cells);
      if (i64(cells_.size()) != n)
        bad_argument("there are " + std::to_string(cells_.size()) + " cells for " + std::to_string(n) + " rows");
      system.cells = cells_.data();
    }
    if (nb::object every = get("look_every"); !every.is_none()) system.watch.every = nb::cast<int>(every);
    if (nb::object x = get("look_x"); !x.is_none()) system.watch.x = nb::cast<bool>(x);
    if (!system.has_entries()) return;
    require_csr(indptr, indices, data, n);
    system.A = {n, indptr.data(), indices.data(), data.data(), 0, -1, words_};
  }

  System system;
  std::vector<Callable> functions;

  /// New fields as `grid_matrix` has them, handed to `take`; what they view is kept from then on, unless they are refused.
  template <class Take>
  void update_grid(const PyGrid& given, const Take& take) {
    Viewed arrays;
    const GridMatrix fields = grid_of(given, system.A.n, arrays);
    take(fields);
    system.grid = fields;
    grid_.swap(arrays);
  }

 private:
  void require_csr(const Array<i64>& indptr, const Array<i32>& indices, const Array<double>& data, i64 n) const {
    require_arrays(indptr, indices, data, n, std::size_t(words_));
  }
  static void require_arrays(const Array<i64>& indptr, const Array<i32>& indices, const Array<double>& data, i64 n,
                             std::size_t words) {
    if (i64(indptr.size()) != n + 1 || indices.size() * words != data.size() ||
        (n > 0 && indptr.data()[n] != i64(indices.size())))
      bad_argument("the CSR arrays do not belong together");
  }

  void take_hierarchy(std::vector<PyLevel> levels) {
    hierarchy_ = std::move(levels);
    auto given = std::make_shared<std::vector<GivenLevel>>();
    for (const auto& [P, shape, A] : hierarchy_) {
      const auto& [ptr, columns, values] = P;
      const auto& [A_ptr, A_columns, A_values] = A;
      const auto [rows, width] = shape;
      require_arrays(ptr, columns, values, rows, 1);
      require_arrays(A_ptr, A_columns, A_values, i64(A_ptr.size()) - 1, 1);
      given->push_back({{rows, width, ptr.data(), columns.data(), values.data()},
                        {i64(A_ptr.size()) - 1, A_ptr.data(), A_columns.data(), A_values.data()}});
    }
    system.hierarchy = std::move(given);
  }

  int words_ = 1;
  std::vector<PyLevel> hierarchy_;
  Array<i64> indptr_;
  Array<i32> indices_;
  Array<double> data_;
  Array<i64> cells_;
  Viewed grid_;
  nb::object hmatrix_, coarse_;
  std::tuple<Array<i64>, Array<i32>, Array<double>> inverse_;
};

}  // namespace sordino::python
