// How an engine brings rows of vectors from one rank to another outside of recordings, for comm/ (communicator.hpp says what
// users see of it). Where a rank reaches the other's memory the receiver copies them from there; else the sender loads them
// into memory of the host, they travel as host data, and the receiver stores them.
#pragma once
#include <functional>
#include <string>

#include "sordino/base/ledger.hpp"
#include "sordino/base/types.hpp"

namespace sordino {

class Rank;

/// Own rows of a buffer: from row `first`.
struct RowsOf {
  int physical = -1;
  i32 first = 0, count = 0;
};

/// A point in the work that a rank has given to its device: it is passed when all that was given before has been done. The
/// engine's; it serves again once all its users have dropped it. Null where nothing is ever under way.
using RowMark = void*;

class RowPort {
 public:
  virtual ~RowPort() = default;
  virtual bool reaches(int rank, int other) const = 0;          // alike in both directions
  virtual Carrier carrier(int from, int to) const = 0;          // of these rows, `from` a rank of this process
  virtual double* address(Rank& rank, const RowsOf& rows) = 0;  // where arithmetic is, their first word

  /// Behind what the rank has given to its device so far; `users` ranks ask for it.
  virtual RowMark mark(Rank&, int /*users*/) { return nullptr; }
  /// Begins to copy `count` words: not before `ready`, the receiver's own mark, and `complete`, the sender's, are passed. From
  /// then on `ready` means the end of the copy. Any thread that looks after the receiver's messages calls it; does not wait.
  virtual void copy(Rank& at, double* to, const double* from, i64 count, RowMark ready, RowMark complete) = 0;
  virtual bool is_passed(RowMark) { return true; }
  /// With the engine's timeout, which names what().
  virtual void wait(Rank&, RowMark, const std::function<std::string()>& /*what*/) {}
  virtual void drop(RowMark) {}  // by one user

  /// Rows to and from memory of the host, with the engine's timeout; not before the rank's device has done what it was given,
  /// or has passed `ready`.
  virtual void load(Rank& rank, const RowsOf& rows, double* to) = 0;
  virtual void store(Rank& rank, const RowsOf& rows, const double* from, RowMark ready) = 0;
};

}  // namespace sordino
