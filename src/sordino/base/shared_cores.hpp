// How many threads the loops of a setup have, where several threads of a process set up something at the same time.
#pragma once

namespace sordino {

/// The threads of a loop to which nobody says how many (for_parts(), base/parallel.hpp): as many as there are cores, 32 at
/// most, where a loop ends soon and comes again; inside of a SharedCores, this thread's share of the cores, 128 at most.
int shared_cores();

/// While it lives, loops of the thread that made it are a setup's: they take their share of the cores, as one of so many
/// threads that set up at the same time, the ranks of a process. One made inside another counts alone.
class SharedCores {
 public:
  explicit SharedCores(int threads = 1);
  ~SharedCores();
  SharedCores(const SharedCores&) = delete;

 private:
  int before_;
};

}  // namespace sordino
