// The processes of a run: a library's own collectives on plain arrays, for what comes before an engine, and for measurements
// that none of our engines makes.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino {

/// The calls without a comment of their own are collective, and wait. Who waits longer than the timeout for the others throws
/// peer_failed; what it has passed may then still be written to, so that its process should end.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual int count() const = 0;  // not collective
  virtual int index() const = 0;  // not collective
  /// Whether add() and gather() take memory of a GPU. Not collective.
  virtual bool reaches_devices() const = 0;

  virtual void barrier() = 0;
  /// values[0 .. count) = the sum of all processes' values.
  virtual void add(double* values, i64 count) = 0;
  /// whole[p * part .. (p + 1) * part) = that of process p, in place. All processes pass the same part.
  virtual void gather(double* whole, i64 part) = 0;
  /// values[i] = the largest of all processes. All pass equally many.
  virtual void most(std::vector<double>& values) = 0;

  /// For an engine over all of them, with so many ranks in each. `apart`: as if each process were on a host of its own.
  virtual std::unique_ptr<Hall> hall(int ranks, bool apart) = 0;
  virtual std::unique_ptr<Transport> transport(int ranks) = 0;

  /// Names what all processes do together from now on, as their user calls it, for the sentence of a wait that takes too long:
  /// "sordino_solve". Not collective.
  void enter(std::string call) { call_ = std::move(call), joined_ = false; }

 protected:
  /// What others are waited for to do: "to enter sordino_solve".
  std::string expected() const {
    return call_.empty() ? "to make the same call" : (joined_ ? "to go on in " : "to enter ") + call_;
  }
  /// A wait has ended well: all have entered.
  void joined() { joined_ = true; }

 private:
  std::string call_;
  bool joined_ = false;
};

}  // namespace sordino
