// Vectors that Python hands over, of the host or of a GPU.
#pragma once
#include "convert.hpp"
#include "sordino/config.hpp"

namespace sordino::python {

/// Of the host or of a GPU; given as a capsule of DLPack, too.
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig>;

/// Throws `unsupported` for memory that this build does not reach: without CUDA a GPU's would be taken for the host's.
inline void require_reachable(int device_type, const char* what) {
  bool host = device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value;
  if (!host && !(SORDINO_WITH_CUDA && device_type == nb::device::cuda::value))
    throw Error(Errc::unsupported, std::string(what) + " is in memory of a device that this build does not reach");
}

/// Throws bad_argument as well for a vector of other than n words.
template <class T>
void require_words(const Vector<T>& v, i64 n, const char* what) {
  require_reachable(v.device_type(), what);
  if (i64(v.size()) != n)
    bad_argument(std::string(what) + " has " + std::to_string(v.size()) + " words, and vectors of the matrix " +
                 std::to_string(n));
}

}  // namespace sordino::python
