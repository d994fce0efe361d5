// sordino._core.take_rows and grid_rows: a SciPy matrix on its way to the core, and rows of a grid's fields.
#include <nanobind/stl/optional.h>

#include "given_system.hpp"
#include "large.hpp"
#include "sordino/api/grid_system.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/linalg/taken_rows.hpp"

namespace sordino::python {
namespace {

/// Of 32 or 64 bits, and of any other type, which is refused.
using Integers = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Taken = std::optional<nb::tuple>;

template <class T>
nb::object copy(bool made, LargeArray<T>& array) {
  return made ? large_array(std::move(array)) : nb::object(nb::none());
}

template <class Start, class Column>
Taken take(const Integers& indptr, const Integers& indices, const Array<double>& data, i64 n, int words, bool own) {
  const std::size_t entries = indices.size();
  if (n < 1 || indptr.size() != std::size_t(n) + 1 || (words != 1 && words != 2) || data.size() != entries * std::size_t(words))
    return {};
  const bool new_starts = own || !std::is_same_v<Start, i64>, new_columns = own || !std::is_same_v<Column, i32>;
  LargeArray<i64> starts;
  LargeArray<i32> columns;
  LargeArray<double> values;
  const GivenRows<Start, Column> given{
      n,    n, static_cast<const Start*>(indptr.data()), static_cast<const Column*>(indices.data()), data.data(), i64(entries),
      words};
  bool taken;
  {
    nb::gil_scoped_release release;
    SharedCores all;
    if (new_starts) starts = LargeArray<i64>(indptr.size());
    if (new_columns) columns = LargeArray<i32>(entries);
    if (own) values = LargeArray<double>(data.size());
    taken = take_rows(given, {starts.data(), columns.data(), values.data()});
  }
  if (!taken) return {};
  return nb::make_tuple(copy(new_starts, starts), copy(new_columns, columns), copy(own, values));
}

/// Copies of indptr, indices and data as the core takes them, data of pairs where words is 2; None if they are no usable
/// matrix, or of other types. Of what has the right type there is a copy only if it is to be `own`: else None in its place.
Taken take_any(const Integers& indptr, const Integers& indices, const Array<double>& data, i64 n, int words, bool own) {
  auto take_columns = [&]<class Start>(Start) -> Taken {
    if (indices.dtype() == nb::dtype<i32>()) return take<Start, i32>(indptr, indices, data, n, words, own);
    if (indices.dtype() == nb::dtype<i64>()) return take<Start, i64>(indptr, indices, data, n, words, own);
    return {};
  };
  if (indptr.dtype() == nb::dtype<i32>()) return take_columns(i32{});
  if (indptr.dtype() == nb::dtype<i64>()) return take_columns(i64{});
  return {};
}

/// indptr, indices and data of a grid's matrix, with an entry for each face between cells.
nb::tuple grid_rows(const PyGrid& given, i64 n) {
  Viewed viewed;
  const GridMatrix fields = grid_of(given, n, viewed);
  LargeCsr rows;
  {
    nb::gil_scoped_release release;
    SharedCores all;
    rows = rows_of(FieldsOnHost(fields).view());
  }
  return nb::make_tuple(large_array(std::move(rows.indptr)), large_array(std::move(rows.indices)),
                        large_array(std::move(rows.values)));
}

}  // namespace

void define_matrices(nb::module_& m) {
  using namespace nb::literals;
  m.def("take_rows", &take_any, "indptr"_a, "indices"_a, "data"_a, "n"_a, "words"_a, "own"_a);
  m.def("grid_rows", &grid_rows, "given"_a, "n"_a);
}

}  // namespace sordino::python
