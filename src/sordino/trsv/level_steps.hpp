// What a task of rows computes, as threads of the host and the model engine do it. A row's sum has one order, whoever computes
// it, and products are rounded before they are added.
#pragma once
#include "sordino/trsv/level_factor.hpp"

namespace sordino::trsv {

/// x in the order of the levels, b in the triangle's; [n][columns] each.
template <class V>
struct LevelVectors {
  const V* b = nullptr;
  V* x = nullptr;
  i64 columns = 1;
};

/// L^H on the way back, if it is conjugated.
template <class V>
void substitute(const LevelFactor<V>& factor, const Task& task, Direction direction, bool conjugate, const LevelVectors<V>& v);

}  // namespace sordino::trsv
