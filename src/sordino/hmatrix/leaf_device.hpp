// Leaves that are computed on a GPU, or on whatever else has memory of its own: a batch of them at a time, of which the host
// gets the values while the next one is under way.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sordino/hmatrix/team_compression.hpp"

namespace sordino::hmatrix {

/// Is told some twenty times a second, while somebody waits for a device, how much of its leaves' rows and columns that has
/// done since it is there; false ends the wait. What it throws does, too.
using Meanwhile = std::function<bool(i64 done)>;

/// V: values of the matrix. A batch goes through start(), finish(), pack() and fetch(); the next one may be started after
/// pack().
template <class V>
class LeafDevice {
 public:
  virtual ~LeafDevice() = default;
  /// Values of all workspaces of a batch, the most.
  virtual i64 capacity() const = 0;
  /// Begins to compute these leaves.
  virtual void start(std::span<const LeafTask> tasks, const CompressionOptions& options) = 0;
  /// Waits for them. Of a wait that was ended there is nothing to be used.
  virtual std::vector<LeafResult> finish(const Meanwhile& meanwhile) = 0;
  /// Begins to copy them out of their workspaces: task k's to places[k], of `values` in all; -1: it has none.
  virtual void pack(std::span<const i64> places, i64 values) = 0;
  /// Waits for that, and copies all values to the host, by so many threads of it.
  virtual void fetch(V* to, const Meanwhile& meanwhile, int threads) = 0;
  /// Leaves that are not yet begun stay so; nothing is asked afterwards. Waits until the device is idle. False: it does not
  /// become so, and who frees what it uses would wait for ever.
  virtual bool stop() = 0;
};

}  // namespace sordino::hmatrix
