// Arrays of gigabytes of the core's that Python keeps.
#pragma once
#include "convert.hpp"
#include "sordino/base/large_array.hpp"

namespace sordino::python {

/// `Type`: as which NumPy has it.
template <class T, class Type = T>
nb::object large_array(LargeArray<T>&& array) {
  auto* kept = new LargeArray<T>(std::move(array));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<LargeArray<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, Type, nb::ndim<1>>(static_cast<void*>(kept->data()), {kept->size()}, owner));
}

}  // namespace sordino::python
