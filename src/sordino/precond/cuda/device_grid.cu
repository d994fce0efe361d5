// Compiled without fused products and sums: coarse matrices have the host's bits.
#include "sordino/precond/cuda/device_grid.hpp"

#include <bit>
#include <deque>
#include <mutex>

#include "sordino/precond/grid_maker_on.hpp"
#include "sordino/runtime/cuda/pointers.hpp"
#include "sordino/runtime/cuda/workbench.cuh"

namespace sordino {
namespace {

using cuda::call, cuda::DeviceArrayOf, cuda::my_number;

template <class Act>
__global__ void run_each(Act act, i64 count) {
  const i64 i = my_number();
  if (i < count) act(i);
}

/// GridFacts as threads of a GPU add them up: doubles that are not negative are in the order of their bits.
struct SharedFacts {
  unsigned long long bound, steep, not_positive, not_finite, is_open, sum, magnitudes;
};

__device__ void add_largest(unsigned long long* to, double value) {
  atomicMax(to, static_cast<unsigned long long>(__double_as_longlong(value)));
}

__device__ void add(SharedFacts* to, const GridFacts& some) {
  add_largest(&to->bound, some.bound);
  add_largest(&to->sum, some.sum);
  add_largest(&to->magnitudes, some.magnitudes);
  if (some.steep > 0) atomicAdd(&to->steep, static_cast<unsigned long long>(some.steep));
  if (some.not_positive != GridFacts::none) atomicMin(&to->not_positive, static_cast<unsigned long long>(some.not_positive));
  if (some.not_finite != GridFacts::none) atomicMin(&to->not_finite, static_cast<unsigned long long>(some.not_finite));
  if (some.is_open) atomicMax(&to->is_open, 1ull);
}

/// Of a thread's rows, and then of a warp's threads.
template <class Term>
__global__ void run_sum(Term term, i64 count, SharedFacts* to) {
  GridFacts some;
  for (i64 i = my_number(); i < count; i += i64(gridDim.x) * blockDim.x) some.merge(term(i));
  for (int apart = 16; apart > 0; apart /= 2) {
    GridFacts other;
    other.bound = __shfl_down_sync(~0u, some.bound, apart);
    other.steep = __shfl_down_sync(~0u, static_cast<long long>(some.steep), apart);
    other.not_positive = __shfl_down_sync(~0u, static_cast<long long>(some.not_positive), apart);
    other.not_finite = __shfl_down_sync(~0u, static_cast<long long>(some.not_finite), apart);
    other.is_open = __shfl_down_sync(~0u, int(some.is_open), apart) != 0;
    other.sum = __shfl_down_sync(~0u, some.sum, apart);
    other.magnitudes = __shfl_down_sync(~0u, some.magnitudes, apart);
    some.merge(other);
  }
  if (threadIdx.x % 32 == 0) add(to, some);
}

class Bench : public cuda::Workbench {
 public:
  explicit Bench(int device) : Workbench(device, "levels of multigrid") {
    int processors = 0;
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    blocks_ = 4 * processors;
  }
  Arena& arena() { return arena_; }
  template <class Act>
  void each(const char* name, i64 count, const Act& act) {
    if (count > 0) start(name, run_each<Act>, count, act, count);
  }
  template <class Term>
  GridFacts sum(const char* name, i64 count, const Term& term) {
    SharedFacts found{.bound = 0,
                      .steep = 0,
                      .not_positive = static_cast<unsigned long long>(GridFacts::none),
                      .not_finite = static_cast<unsigned long long>(GridFacts::none),
                      .is_open = 0,
                      .sum = 0,
                      .magnitudes = 0};
    // Not pinned, for few words, which would be taken for them alone: what is copied back is waited for before.
    SharedFacts* const there = facts_.take(1);
    copy(there, &found, 1, cudaMemcpyHostToDevice);
    start_blocks(name, run_sum<Term>, std::min(blocks_, blocks_for(count)), term, count, there);
    wait();
    fetch(&found, there, 1);
    wait();
    return {.bound = std::bit_cast<double>(found.bound),
            .steep = i64(found.steep),
            .not_positive = i64(found.not_positive),
            .not_finite = i64(found.not_finite),
            .is_open = found.is_open != 0,
            .sum = std::bit_cast<double>(found.sum),
            .magnitudes = std::bit_cast<double>(found.magnitudes)};
  }
  DeviceArrayOf<double>& on_the_way() { return on_the_way_; }

 private:
  i64 blocks_ = 0;  // that fit beside each other
  std::deque<DeviceArrayOf<char>> pieces_;
  Arena arena_{[this](i64 bytes) { return pieces_.emplace_back().take(bytes); }};
  DeviceArrayOf<double> on_the_way_;  // to another GPU
  DeviceArrayOf<SharedFacts> facts_;
};

/// A GPU, whatever device is current.
class DevicePlace {
 public:
  explicit DevicePlace(int device) : device_(device) {
    cuda::OnDevice here(device);
    bench_ = std::make_unique<Bench>(device);
  }
  ~DevicePlace() {
    int before = 0;  // nothing is thrown
    cudaGetDevice(&before);
    cudaSetDevice(device_);
    if (bench_ && bench_->is_lost())
      static_cast<void>(bench_.release());  // who frees what a lost GPU uses would wait for ever
    else
      bench_.reset();
    cudaSetDevice(before);
  }
  DevicePlace(const DevicePlace&) = delete;

  bool holds(const double* array) const {
    const cuda::Place place = cuda::place_of(array);
    return place.memory == cuda::Memory::device && place.device == device_;
  }
  Arena& arena() { return bench_->arena(); }
  const Arena& arena() const { return bench_->arena(); }
  template <class Act>
  void each(const char* name, i64 count, const Act& act) {
    bench_->each(name, count, act);
  }
  template <class Term>
  GridFacts sum(const char* name, i64 count, const Term& term) {
    return bench_->sum(name, count, term);
  }
  template <class T>
  void put(T* to, const T* from, i64 count) {
    cuda::start_copying(to, from, std::size_t(count) * sizeof(T), bench_->stream());
  }
  template <class T>
  void fetch(T* to, const T* from, i64 count) {
    bench_->wait();
    bench_->fetch(to, from, count);
    bench_->wait();
  }
  template <class Act>
  void into(double* to, i64 count, const Act& act) {
    const bool is_here = holds(to);
    double* const array = is_here ? to : bench_->room(bench_->on_the_way(), count);
    act(array);
    if (!is_here) put(to, array, count);
    bench_->wait();
  }
  void wait() { bench_->wait(); }

  /// One thread at a time, on this device.
  struct Held {
    std::unique_lock<std::mutex> lock;
    cuda::OnDevice here;
  };
  Held hold() { return {std::unique_lock(mutex_), cuda::OnDevice(device_)}; }

 private:
  int device_;
  std::mutex mutex_;
  std::unique_ptr<Bench> bench_;
};

}  // namespace

std::unique_ptr<GridMaker> device_grid_maker(int device) { return std::make_unique<GridMakerOn<DevicePlace>>(device); }

}  // namespace sordino
