// Which devices work together, and their way into each other's memory.
#pragma once
#include <set>
#include <utility>
#include <vector>

namespace sordino::cuda {

/// The wanted devices, or all there are if none is named. Throws `unsupported` if no device can be used, bad_argument for one
/// that is not there.
std::vector<int> chosen_devices(const std::vector<int>& wanted);

/// Pairs of devices of which the first reaches the second one's memory.
class Reach {
 public:
  void add(int device, int peer) { pairs_.insert({device, peer}); }
  /// Both ways: who is sent to also answers.
  bool between(int a, int b) const { return a == b || (pairs_.count({a, b}) && pairs_.count({b, a})); }

 private:
  std::set<std::pair<int, int>> pairs_;
};

/// Lets each of the devices reach the memory of those others that it can.
Reach enable_peers(const std::vector<int>& devices);

/// Throws `unsupported`, with what to do, if there is no path between two of the devices.
void need_peers(const Reach& reach, const std::vector<int>& devices);

}  // namespace sordino::cuda
