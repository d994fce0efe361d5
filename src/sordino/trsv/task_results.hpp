// What a task of a plan of blocks has for other ranks.
#pragma once
#include <algorithm>

#include "sordino/trsv/plan.hpp"

namespace sordino::trsv {

/// `visit(first, count, is_sum)`: places of the slots, or on the way back of x, that other ranks may need of a task. Partial
/// sums of the way back are not among them: they stay where they are.
template <class Visit>
void each_result(const Blocks& blocks, const Plan& plan, const Task& t, const Visit& visit) {
  const bool forward = plan.direction == Direction::forward;
  auto part = [&](i32 k, i32 first, i32 end) {
    const Block& b = blocks.blocks[std::size_t(k)];
    const i32 below = std::max(first, b.width), columns = std::min(end, b.width);
    if (forward && below < end) visit(b.slot + below - b.width, end - below, true);
    if (!forward && first < columns) visit(b.column + i64(first), columns - first, false);
  };
  if (t.kind == Task::Kind::strips && !forward) return;
  if (t.kind == Task::Kind::strips)
    part(t.block, t.first * blocks.blocks[std::size_t(t.block)].strip_rows,
         std::min(t.end * blocks.blocks[std::size_t(t.block)].strip_rows, blocks.blocks[std::size_t(t.block)].front));
  else if (t.kind == Task::Kind::columns)
    part(t.block, t.first, t.end);
  else
    for (i32 k = t.first; k < t.end; k++) part(k, 0, blocks.blocks[std::size_t(k)].front);
}

}  // namespace sordino::trsv
