// Into which reductions the commands of a recording sum, and which of them travel together.
#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/runtime/contains.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

void Rank::start_reduction(Command& c, const std::vector<Scal>& to) {
  if (int(to.size()) != c.sums)
    bad_argument(c.name + ": its rows return " + std::to_string(c.sums) + " sums, and " + std::to_string(to.size()) +
                 " scalars are to take them");
  if (c.sums == 0) bad_argument(c.name + ": its rows return no sums to start a reduction with");
  if (c.space < 0) bad_argument(c.name + ": its rows return sums, but no vector says which rows there are");
  std::vector<int> ids;
  for (Scal s : to) {
    if (contains(ids, s.id))
      bad_argument(c.name + ": scalar '" + scalar_names_[s.id] + "' is to take two sums, and takes one: it is named twice");
    ids.push_back(s.id);
  }
  int slot = -1;
  for (int id : ids) slot = std::max(slot, reduction_of_[id]);
  if (slot < 0) {
    slot = int(reductions_.size());
    reductions_.push_back({.to = ids, .space = c.space, .joins = c.joins});
    try {
      engine_.add_reduction(*this, slot);
    } catch (...) {
      reductions_.pop_back();
      throw;
    }
    for (int id : ids) reduction_of_[id] = slot;
  } else if (reductions_[slot].to != ids) {
    bad_argument(c.name + ": scalar '" + scalar_names_[reductions_[slot].to[0]] + "' belongs to another reduction");
  } else if (reductions_[slot].space != c.space) {
    bad_argument(c.name + ": scalar '" + scalar_names_[ids[0]] + "' belongs to a reduction over another space");
  } else if (reductions_[slot].joins != c.joins) {
    bad_argument(c.name + ": the sums into '" + scalar_names_[ids[0]] + "' travel with others in one place, alone in another");
  }
  c.starts = slot;
}

void Rank::add_epilogue(Command& c, const Start& s) {
  start_reduction(c, s.to);
  joining_.erase(queue_);
}

void Rank::add_epilogue(Command& c, const Join& j) {
  c.joins = true;
  start_reduction(c, j.to);
  joining_[queue_] = c.starts;
}

void Rank::require_carriers() const {
  for (auto& [queue, slot] : joining_)
    bad_argument("the sums into '" + scalar_names_[reductions_[slot].to[0]] +
                 "' are to travel with a reduction that no command starts");
}

}  // namespace sordino
