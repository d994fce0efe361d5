// How data reaches ranks of other processes. Ranks of one process reach each other's memory directly and need no transport.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/base/types.hpp"
#include "sordino/runtime/scalar.hpp"

namespace sordino {

struct Message {
  /// beat: the sender's process lives, and its ranks make progress if `place` is 1; ended: they have ended run `slot`;
  /// complaint: what a rank waited for in vain; invitation: to a communicator; memory: where the sender has a vector or
  /// reduction; placed_halo: its rows, of which the payload is the number of bytes, are sent from where they lie.
  enum Kind : i32 {
    halo,
    reduction,
    host_data,
    barrier,
    fault,
    beat,
    ended,
    complaint,
    invitation,
    memory,
    placed_halo
  } kind = halo;
  i64 slot = 0;          // physical vector, reduction slot, or tag
  i32 from = 0, to = 0;  // ranks
  u32 flag = 0;          // epoch << 1 | stop request
  i32 place = 0;         // halo: first row at the destination; reduction: first block; memory: of which kind
  i32 peer = 0;          // halo: which of the destination's peers the sender is
};

/// An all-reduce of the transport's own library under way. Destroyed before its end it is left to the library.
class LibraryReduction {
 public:
  virtual ~LibraryReduction() = default;
  virtual bool test() = 0;  // whether it has ended; lets the library make progress
  virtual const std::vector<std::byte>& values() const = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;
  virtual int processes() const = 0;
  virtual int process() const = 0;
  /// Ranks of every process, in process order.
  virtual const std::vector<int>& ranks_of_processes() const = 0;
  /// Copies the payload; returns at once. Thread-safe.
  virtual void send(int process, const Message& header, const void* data, std::size_t bytes) = 0;
  /// Hands arrived messages to `deliver`. Returns how many. Thread-safe; returns 0 at once if another thread is polling.
  using Deliver = std::function<void(const Message&, const std::byte* data, std::size_t bytes)>;
  virtual int poll(const Deliver& deliver) = 0;
  /// Sends bytes from where they lie, without a header: between two processes the n-th of these is the n-th to be received.
  /// They stay as they are until the receiver has them. Returns at once. Thread-safe.
  virtual void send_placed(int /*process*/, const void* /*data*/, std::size_t /*bytes*/) { no_places(); }
  /// Receives such bytes to where they belong; a later poll() calls `arrived`. Returns at once. Thread-safe, but not from
  /// within `deliver`.
  virtual void receive_placed(int /*process*/, void* /*to*/, std::size_t /*bytes*/, std::function<void()> /*arrived*/) {
    no_places();
  }
  /// Whether these two take memory of GPUs, in all processes.
  virtual bool reaches_devices() const { return false; }
  /// Nothing of what was sent needs this process any more. Thread-safe.
  virtual bool all_sent() = 0;
  virtual bool reduces() const { return false; }  // whether there is the next
  /// Folds `values` of all processes, which start the same reductions in the same order. Thread-safe.
  virtual std::unique_ptr<LibraryReduction> start_all_reduce(Fold, Scalar, std::vector<std::byte> /*values*/) {
    return nullptr;
  }

 private:
  void no_places() const { throw Error(Errc::unsupported, std::string("transport ") + name() + " sends copies only"); }
};

}  // namespace sordino
