// Leaves of a matrix, computed by devices: who gets which, and where their values come to lie.
#pragma once
#include <functional>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/leaf_device.hpp"
#include "sordino/hmatrix/leaf_filler.hpp"

namespace sordino::hmatrix {

/// What devices have left to the host, by the leaves' numbers.
struct DevicesDone {
  std::vector<i64> for_host;
  DeviceSeconds seconds = {};
};

/// Deals batches of these leaves, by their numbers, in their order, out to devices, a thread for each, and puts ranks, values
/// and norms where they belong, by the options' threads. Leaves that need more terms than others have a second turn, with room
/// for most_terms. `tell` is called some twenty times a second, by the calling thread, with how much of the leaves' rows and
/// columns is done; what it throws ends the build, in the time that a leaf takes. Leaves are left to the host whose terms had
/// no room, or missed the tolerance twice, or whose entries are not finite.
template <class V>
DevicesDone compute_on_devices(std::span<const std::shared_ptr<LeafDevice<V>>> devices, std::span<LeafOf<V>> leaves,
                               std::span<const i64> numbers, const BuildOptions& options, std::vector<ValueStore<V>>& stores,
                               std::span<Filled> filled, const std::function<void(i64 done)>& tell);

}  // namespace sordino::hmatrix
