// What belongs to the process that made it: threads of its own among them.
#pragma once
#include <unistd.h>

#include <memory>

namespace sordino {

/// Deletes nothing in a child that was forked later. There the threads are not, and their stacks are other threads' by now: who
/// joins them waits for ever, or frees what is in use. Memory is the child's own copy, and is kept until it ends.
class DeleteInParent {
 public:
  template <class T>
  void operator()(T* made) const {
    if (getpid() == process_) delete made;
  }

 private:
  pid_t process_ = getpid();
};

template <class T>
using OfProcess = std::unique_ptr<T, DeleteInParent>;

}  // namespace sordino
