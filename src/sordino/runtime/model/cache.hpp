// What a command finds in a device's cache of what the commands before it have touched. Buffers leave in the order of their
// last use, those that are done with before all others; rows of one buffer leave one by one, so a part of it may be left.
//
// A buffer of b bytes, touched last by command t, is found by a later one as far as it fits beside what has come since:
//   found = clamp((capacity - others) / b, 0, 1)
// where `others` are the bytes of all other buffers that t and the commands after it have touched; of these, those that were
// done with have made room already, unless this one was, too: it then also makes room for every other buffer. What is written
// reaches memory when it leaves the cache, so a write counts as found if the buffer has stayed since it was written last.
//
// So an iteration whose buffers all fit finds everything, and one each of whose commands touches buffers that are larger than
// the cache finds nothing; in between it finds less, the larger they are. What is left out: that lines have a fixed set of
// places, that what streams through holds some of them, and reuse within a command, which its bytes do not count.
#pragma once
#include <functional>
#include <vector>

#include "sordino/runtime/command.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::model {

/// A buffer that a command uses as a whole.
struct Touch {
  int buffer = 0;
  double bytes = 0;
  bool reads = false, writes = false;
  bool is_done_with = false;  // its lines are the first to go
};

/// Bytes of each command, of the last of two rounds through all, that are found in a cache of `capacity` bytes; of the first,
/// which begins with nothing there, if they are not repeated. Cost: touches times buffers.
std::vector<double> found_in_cache(const std::vector<std::vector<Touch>>& commands, double capacity, bool repeated);

/// The same of the commands that `rank` has recorded, in the mean over a period of the rotation; `buffer(t, v)` is the physical
/// vector that v stands for in iteration t. What is not a vector is a command's own, of one name and size the same: entries of
/// a matrix, which are read once. Commands of some iterations only, and those with a bandwidth of their own, find nothing and
/// leave nothing. Last uses of vectors are marked where two of them fit (LastUse), here too where a smaller system is run for a
/// larger one. Zeros where the machine describes no cache.
std::vector<double> found_in_cache(const Rank& rank, const Recording& recording, const Machine& machine,
                                   const std::function<int(int, int)>& buffer);

}  // namespace sordino::model
