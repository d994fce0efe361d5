#include "sordino/runtime/model/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "sordino/base/error.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace sordino::model {
namespace {

constexpr int most_guarded = 16384;  // a guard page costs two mappings, and Linux allows 65530

std::size_t in_pages(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

Stacks::Stacks(int count, std::size_t bytes) : count_(count) {
  std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
  guard_ = page;
  pitch_ = in_pages(bytes, page) + guard_;
  void* p = mmap(nullptr, pitch_ * std::size_t(count), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw Error(Errc::unsupported, "no room for the stacks of " + std::to_string(count) + " modelled ranks (" +
                                       std::to_string(pitch_ * std::size_t(count)) + " bytes of address space)");
  base_ = static_cast<std::byte*>(p);
#ifdef MADV_NOHUGEPAGE
  madvise(base_, pitch_ * std::size_t(count_), MADV_NOHUGEPAGE);  // a huge page would hold many stacks, each nearly empty
#endif
  if (count_ <= most_guarded)
    for (int i = 0; i < count_; i++) mprotect(base_ + std::size_t(i) * pitch_, guard_, PROT_NONE);
}

Stacks::~Stacks() { munmap(base_, pitch_ * std::size_t(count_)); }

void Stacks::release() { madvise(base_, pitch_ * std::size_t(count_), MADV_DONTNEED); }

void Fiber::prepare(std::byte* stack, std::size_t bytes, std::function<void()> job) {
  job_ = std::move(job);
  ended_ = false;
  exceptions_ = {};
  stack_ = stack;
  bytes_ = bytes;
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack;
  inside_.uc_stack.ss_size = bytes;
  inside_.uc_link = nullptr;
  auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, unsigned(std::uint64_t(self) >> 32), unsigned(self));
#ifdef __SANITIZE_THREAD__
  shadow_ = __tsan_create_fiber(0);
#endif
}

void Fiber::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>(std::uintptr_t((std::uint64_t(high) << 32) | low));
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &self->outer_stack_, &self->outer_bytes_);
#endif
  self->job_();
  self->job_ = nullptr;
  self->ended_ = true;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(nullptr, self->outer_stack_, self->outer_bytes_);  // nullptr: it does not come back
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(self->outer_shadow_, 0);
#endif
  setcontext(&self->outside_);
}

void Fiber::swap_exceptions() {
  auto* mine = reinterpret_cast<std::byte*>(&exceptions_);
  auto* current = reinterpret_cast<std::byte*>(abi::__cxa_get_globals());
  std::byte kept[sizeof(exceptions_)];
  std::memcpy(kept, current, sizeof kept);
  std::memcpy(current, mine, sizeof kept);
  std::memcpy(mine, kept, sizeof kept);
}

void Fiber::resume() {
  swap_exceptions();
#ifdef __SANITIZE_ADDRESS__
  void* shadow = nullptr;
  __sanitizer_start_switch_fiber(&shadow, stack_, bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  outer_shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(shadow_, 0);
#endif
  swapcontext(&outside_, &inside_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(shadow, nullptr, nullptr);
#endif
#ifdef __SANITIZE_THREAD__
  if (ended_) __tsan_destroy_fiber(shadow_);
#endif
  swap_exceptions();
}

void Fiber::suspend() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&shadow_, outer_stack_, outer_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(outer_shadow_, 0);
#endif
  swapcontext(&inside_, &outside_);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(shadow_, &outer_stack_, &outer_bytes_);
#endif
}

}  // namespace sordino::model
