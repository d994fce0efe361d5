// Which devices work together, and their way into each other's memory.
#pragma once
#include <vector>

namespace sordino::cuda {

/// The wanted devices, or all there are if none is named. Throws `unsupported` if no device can be used, bad_argument for one
/// that is not there.
std::vector<int> chosen_devices(const std::vector<int>& wanted);

/// Lets each of the devices reach the memory of all others. Throws `unsupported` if there is no path between two of them.
void enable_peers(const std::vector<int>& devices);

}  // namespace sordino::cuda
