#include "sordino/precond/grid_maker.hpp"

#include <mutex>

#include "sordino/base/parallel.hpp"
#include "sordino/config.hpp"
#include "sordino/precond/grid_maker_on.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/precond/cuda/device_grid.hpp"
#include "sordino/runtime/cuda/pointers.hpp"
#endif

namespace sordino {
namespace {

constexpr i64 least_rows = 1 << 10;  // that are worth a thread

class HostPlace {
 public:
  bool holds(const double*) const { return true; }
  Arena& arena() { return arena_; }
  const Arena& arena() const { return arena_; }
  template <class Act>
  void each(const char*, i64 count, const Act& act) {
    for_parts(
        0, count,
        [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; i++) act(i);
        },
        least_rows);
  }
  template <class Term>
  GridFacts sum(const char*, i64 count, const Term& term) {
    GridFacts all;
    std::mutex mutex;
    for_parts(
        0, count,
        [&](i64 begin, i64 end) {
          GridFacts some;
          for (i64 i = begin; i < end; i++) some.merge(term(i));
          std::lock_guard lock(mutex);
          all.merge(some);
        },
        least_rows);
    return all;
  }
  template <class T>
  void put(T* to, const T* from, i64 count) {
    std::copy(from, from + count, to);
  }
  template <class T>
  void fetch(T* to, const T* from, i64 count) {
    std::copy(from, from + count, to);
  }
  template <class Act>
  void into(double* to, i64, const Act& act) {
    act(to);
  }
  void wait() {}
  struct Held {
    ~Held() {}  // nobody shares anything: parts of ranks are filled at the same time
  };
  Held hold() { return {}; }

 private:
  std::vector<LargeArray<char>> pieces_;
  Arena arena_{[this](i64 bytes) { return pieces_.emplace_back(std::size_t(bytes)).data(); }};
};

}  // namespace

bool is_on_host([[maybe_unused]] const double* array) {
#if SORDINO_WITH_CUDA
  return cuda::place_of(array).memory != cuda::Memory::device;
#else
  return true;
#endif
}

std::unique_ptr<GridMaker> grid_maker([[maybe_unused]] int gpu) {
#if SORDINO_WITH_CUDA
  if (gpu >= 0) return device_grid_maker(gpu);
#endif
  return std::make_unique<GridMakerOn<HostPlace>>();
}

}  // namespace sordino
