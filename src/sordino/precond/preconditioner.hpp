// M^-1, as the solvers see it.
#pragma once
#include "sordino/linalg/operator.hpp"

namespace sordino {

/// What numbers a method computes with where vectors are complex: it multiplies words by real ones, as Hermitian systems allow,
/// or numbers by complex ones; `real`: it is for real vectors only. A diagonal M^-1 has a factor for each accordingly.
enum class Factors { real, of_words, of_numbers };

/// What is iterated on is S A S y = S b with x = S y, for a diagonal S that is positive. On all ranks `least` and `most` are
/// the same bounds of its entries.
struct SymmetricScaling {
  Vec S;
  double least = 1, most = 1;
};

class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  /// A diagonal M^-1 as a vector that solvers fuse into their updates (Scaling fields); unset: the identity.
  virtual Vec diagonal() const = 0;
  /// z = M^-1 r, where M is no diagonal; null: diagonal() says it all.
  virtual const Operator* operation() const { return nullptr; }
  /// How the operator was scaled, if it was: then it is S A S, and there is nothing else to apply.
  virtual const SymmetricScaling* scaling() const { return nullptr; }
};

}  // namespace sordino
