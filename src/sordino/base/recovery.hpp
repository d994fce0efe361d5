// What a solve did where its recurrence led no further.
#pragma once
#include <string>

namespace sordino {

/// One rung of the ladder (docs/results.md). The same on all ranks and engines.
struct Recovery {
  /// How the solve went on: from the recomputed residual, with new directions; besides with fewer steps at once; besides with
  /// classic conjugate gradients, or with classic BiCGStab.
  enum class Kind { residual_replaced, smaller_s, classic_cg, classic_bicgstab };

  int iteration = 0;  // after so many
  Kind kind = Kind::residual_replaced;
  std::string why;      // half a sentence
  double residual = 0;  // ||b - A x||_2 / ||b||_2, recomputed, of the x from which it went on
};

const char* name(Recovery::Kind kind);

}  // namespace sordino
