// The sanitizers follow a thread's stack, and must be told when a fiber changes it. Without a sanitizer this is nothing.
#pragma once
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace sordino::model {

/// One side of a switch: the stack that is left, and, as seen from it, the one that was there before.
struct Watched {
  void* fiber = nullptr;  // what the sanitizer knows this side by
  const void* stack = nullptr;
  std::size_t bytes = 0;
};

#if defined(__SANITIZE_ADDRESS__)
inline void born(Watched&) {}
inline void gone(Watched&) {}
/// Before a switch; `ends`: this side does not come back.
inline void leave(Watched& from, const Watched& to, bool ends) {
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fiber, to.stack, to.bytes);
}
/// Behind a switch: tells where the other side's stack lies.
inline void arrive(Watched& here, Watched& other) { __sanitizer_finish_switch_fiber(here.fiber, &other.stack, &other.bytes); }
#elif defined(__SANITIZE_THREAD__)
inline void born(Watched& w) { w.fiber = __tsan_create_fiber(0); }
inline void gone(Watched& w) { __tsan_destroy_fiber(w.fiber); }
inline void leave(Watched& from, const Watched& to, bool) {
  from.fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.fiber, 0);
}
inline void arrive(Watched&, Watched&) {}
#else
inline void born(Watched&) {}
inline void gone(Watched&) {}
inline void leave(Watched&, const Watched&, bool) {}
inline void arrive(Watched&, Watched&) {}
#endif

}  // namespace sordino::model
