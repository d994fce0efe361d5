#include "sordino/runtime/model/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"

namespace sordino::model {
namespace {

constexpr int most_guarded = 16384;  // a guard page costs two mappings, and Linux allows 65530

std::size_t in_pages(std::size_t bytes, std::size_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

Stacks::Stacks(int count, std::size_t bytes) : count_(count) {
  std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
  guard_ = page;
  pitch_ = in_pages(bytes, page) + guard_;
  void* p =
      mmap(nullptr, pitch_ * std::size_t(count), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
  mine_ = {nullptr, stack, bytes};
  born(mine_);
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack;
  inside_.uc_stack.ss_size = bytes;
  inside_.uc_link = nullptr;
  auto self = std::uint64_t(reinterpret_cast<std::uintptr_t>(this));
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2, unsigned(self >> 32), unsigned(self));
}

// A context is entered with integers only.
void Fiber::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fiber*>(std::uintptr_t((std::uint64_t(high) << 32) | low));
  arrive(self->mine_, self->outer_);
  self->job_();
  self->job_ = nullptr;
  self->ended_ = true;
  leave(self->mine_, self->outer_, true);
  setcontext(&self->outside_);
}

void Fiber::resume() {
  swap_exceptions();
  leave(outer_, mine_, false);
  swapcontext(&outside_, &inside_);
  arrive(outer_, mine_);
  if (ended_) gone(mine_);
  swap_exceptions();
}

void Fiber::suspend() {
  leave(mine_, outer_, false);
  swapcontext(&inside_, &outside_);
  arrive(mine_, outer_);
}

void Fiber::swap_exceptions() {
  auto* current = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  std::swap(*current, exceptions_);
}

}  // namespace sordino::model
