// How many cores a loop of a setup may take, where several threads of a process set up something at the same time.
#pragma once

namespace sordino {

/// The threads of a loop to which nobody says how many (for_parts(), base/parallel.hpp): as many as there are cores, 128 at
/// most, or this thread's share of them.
int shared_cores();

/// While it lives, loops of the thread that made it take their share of the cores, as one of so many threads: a rank's of a
/// process. One made inside another counts alone.
class SharedCores {
 public:
  explicit SharedCores(int threads);
  ~SharedCores();
  SharedCores(const SharedCores&) = delete;

 private:
  int before_;
};

}  // namespace sordino
