// Dot products of what an operator or a preconditioner has computed, where its last command cannot take them itself.
#pragma once
#include "sordino/base/error.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Records a command for them, or none where there are none.
inline void record_dots(Rank& rank, const StartDots& epilogue) {
  auto& d = epilogue.dots;
  switch (d.size()) {
    case 0: return;
    case 1: return rank.dots(d[0]);
    case 2: return rank.dots(d[0], d[1]);
    case 3: return rank.dots(d[0], d[1], d[2]);
    default: bad_argument("at most three dot products are taken of a result");
  }
}

}  // namespace sordino
