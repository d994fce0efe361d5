// Between Python's dictionaries and the core's structs.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "sordino/api/solver.hpp"
#include "sordino/base/error.hpp"

namespace sordino::python {
namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Sets the named options; an unknown name or a value of another type is a bad_argument.
void update(Options& options, const nb::dict& values);
nb::list option_dicts();
Machine machine_of(const nb::object& numbers);  // None: the default machine
/// rank, command, iteration, expected_epoch, seen_epoch; None: not known.
nb::dict cause_dict(const Cause& cause);
nb::dict report_dict(Report& report, nb::object x);
template <class T>
nb::object owned_array(std::vector<T>&& values) {
  auto* v = new std::vector<T>(std::move(values));
  nb::capsule owner(v, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(v->data(), {v->size()}, owner));
}
template <class T>
nb::object owned_table(std::vector<T>&& values, std::size_t columns) {
  auto* v = new std::vector<T>(std::move(values));
  nb::capsule owner(v, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<2>>(v->data(), {v->size() / columns, columns}, owner));
}

}  // namespace sordino::python
