// Memory of a GPU that builds of H-matrices use again and again, and tables in it.
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/runtime/cuda/reserve.hpp"

namespace sordino::hmatrix {

using cuda::DeviceArrayOf, cuda::Message, cuda::PinnedArrayOf, cuda::is_ready, cuda::most_silence;

/// A table on the current device.
template <class T>
const T* put(DeviceArrayOf<T>& to, std::span<const T> table) {
  T* data = to.take(i64(table.size()));
  cuda::call("cudaMemcpyAsync", cudaMemcpyAsync(data, table.data(), table.size_bytes(), cudaMemcpyHostToDevice, nullptr));
  cuda::call("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
  return data;
}

/// The same in another order.
template <class T>
const T* put_in_order(DeviceArrayOf<T>& to, const std::vector<T>& table, std::span<const i32> order) {
  LargeArray<T> ordered(order.size());
  auto some = [&](i64 begin, i64 end) {
    for (auto k = std::size_t(begin); k < std::size_t(end); k++) ordered[k] = table[std::size_t(order[k])];
  };
  for_parts(0, i64(order.size()), some);
  return put<T>(to, ordered);
}

}  // namespace sordino::hmatrix
