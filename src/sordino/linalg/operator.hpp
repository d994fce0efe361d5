// y = A x as a recorded command. Preconditioners, H-matrices and triangular solves are operators.
#pragma once
#include "sordino/runtime/rank.hpp"

namespace sordino {

class Operator {
 public:
  virtual ~Operator() = default;
  /// Records y = A x on this rank. x has been pushed, if it has an exchange; the command waits for its ghosts before the rows
  /// that need them. Dot products in the epilogue take y from registers. One command, one exchange, no reduction of its own.
  virtual void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const = 0;
  /// y0 = A x0 and y1 = A x1; in one pass over the operator where it can.
  virtual void apply_pair(Rank& rank, Vec x0, Vec y0, Vec x1, Vec y1) const {
    apply(rank, x0, y0);
    apply(rank, x1, y1);
  }
  virtual int space() const = 0;  // of x and y
  /// Whether a word of its vectors holds two rows in single precision (linalg/single_operator.hpp), and not one in double.
  virtual bool is_single() const { return false; }
  /// Between recordings: the first thing that it will be applied to is about that large.
  virtual void expect(Rank&, double /*norm*/) const {}
  /// Of how many neighbouring ranks a group has that gathers results, or shares what is done with them, together.
  virtual int group() const { return 1; }
  /// A vector that the operator can be applied to: it has room for what other ranks send.
  virtual Vec operand(Rank& rank, const char* name) const = 0;
  /// A vector that can take the result. Where vectors are replicated the product also sends it to all ranks, and commands that
  /// read it through a Whole or Ghost field wait for it.
  virtual Vec result(Rank& rank, const char* name) const = 0;
};

}  // namespace sordino
