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
#include <vector>

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

}  // namespace sordino::model
