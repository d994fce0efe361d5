// Compiled without fused products and sums: boxes are as far from each other as the host finds them.
#include "sordino/hmatrix/cuda/device_trees.hpp"

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "sordino/base/clock.hpp"
#include "sordino/hmatrix/cuda/block_kernels.cuh"
#include "sordino/hmatrix/cuda/cluster_kernels.cuh"
#include "sordino/hmatrix/cuda/device_memory.hpp"

namespace sordino::hmatrix {
namespace {

using namespace level_kernels;
using cuda::call;

constexpr int threads = 256;

/// A GPU that makes the trees of some points.
class Planter {
 public:
  Planter(int device, const double* points, i64 n, const TreeOptions& options)
      : device_(device), host_points_(points), n_(n), options_(options) {
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Planter() { cudaStreamDestroy(stream_); }
  Planter(const Planter&) = delete;

  bool is_lost() const { return is_lost_; }
  Trees operator()() {
    Trees trees;
    upload();
    cluster();
    trees.clusters.clusters.resize(std::size_t(clusters_count_));
    trees.clusters.order.resize(std::size_t(n_));
    pair();
    sort();
    wait();
    trees.blocks.nodes = nodes_;
    trees.blocks.leaves = LargeArray<Block>(std::size_t(leaves_count_));
    fetch(trees.clusters.clusters.data(), clusters_.data(), clusters_count_);
    fetch(trees.clusters.order.data(), order_[now_].data(), n_);
    fetch(trees.blocks.leaves.data(), sorted_.data(), leaves_count_);
    return trees;
  }

 private:
  void upload() {
    copy(points_.take(3 * n_), host_points_, 3 * n_, cudaMemcpyHostToDevice);
    for (auto* array : {&order_[0], &order_[1], &owner_[0], &owner_[1]}) array->take(n_);
    for (auto* array : {&flags_, &before_, &sons_}) array->take(n_ + 1);
  }
  template <class... Arguments>
  void start(const char* name, void (*kernel)(Arguments...), i64 count, std::type_identity_t<Arguments>... arguments) {
    kernel<<<unsigned((count + threads - 1) / threads), threads, 0, stream_>>>(arguments...);
    call(name, cudaGetLastError());
  }
  template <class T>
  void copy(T* to, const T* from, i64 count, cudaMemcpyKind kind) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, std::size_t(count) * sizeof(T), kind, stream_));
  }
  /// What the device is done with.
  template <class T>
  void fetch(T* to, const T* from, i64 count) {
    copy(to, from, count, cudaMemcpyDeviceToHost);
  }
  /// With room for `more` behind `kept`: zeros, for copies take what pads a structure, too.
  template <class T>
  T* extended(DeviceArrayOf<T>& array, i64 kept, i64 more) {
    if (!array.holds(kept + more)) wait();
    T* const all = array.extend(kept + more, kept, stream_);
    clear(all + kept, 0, more * i64(sizeof(T)));
    return all;
  }
  void clear(void* array, int byte, i64 bytes) {
    call("cudaMemsetAsync", cudaMemsetAsync(array, byte, std::size_t(bytes), stream_));
  }

  void wait() {
    const double end = seconds_now() + most_silence;
    for (; !is_ready("cudaStreamQuery", cudaStreamQuery(stream_)); std::this_thread::yield())
      if (seconds_now() > end) {
        is_lost_ = true;
        throw Error(Errc::device, "GPU " + std::to_string(device_) + " makes trees of an H-matrix and has not answered for " +
                                      std::to_string(int(most_silence)) + " s");
      }
  }
  /// A message of the device, which is waited for.
  template <class T>
  T heard(Message<T>& message) {
    message.bring(1, stream_);
    wait();
    return *message.here.data();
  }

  /// Room for so many, of which none is needed any more once the device is idle: what the driver frees it waits for, without a
  /// limit, so this waits before.
  template <class T>
  T* room(DeviceArrayOf<T>& array, i64 count) {
    if (!array.holds(count)) wait();
    return array.take(count);
  }

  /// A step of cub: asked for the bytes that it wants, then made with them.
  template <class Step>
  void with_space(const char* name, const Step& step) {
    std::size_t bytes = 0;
    call(name, step(nullptr, bytes));
    call(name, step(room(space_, i64(bytes)), bytes));
  }
  void scan(const i32* flags, i32* before, i64 count) {
    with_space("cub::DeviceScan", [&](void* space, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(space, bytes, flags, before, count, stream_);
    });
  }

  void cluster() {
    const Cluster root{0, i32(n_)};
    copy(clusters_.take(1), &root, 1, cudaMemcpyHostToDevice);
    start("count_up", count_up, n_, order_[0].data(), n_);
    clear(owner_[0].data(), 0, n_ * i64(sizeof(i32)));
    i32 first = 0, count = 1;
    while (count > 0) {
      const i32 cut = cut_level(first, count);
      first += count;
      count = 2 * cut;
    }
    clusters_count_ = first;
  }

  /// Returns how many of its clusters have sons.
  i32 cut_level(i32 first, i32 count) {
    clear(room(sides_, sides * i64(count)), 0xff, sides * i64(count) * i64(sizeof(Word)));
    LevelView v{clusters_.data(),
                first,
                count,
                points_.data(),
                n_,
                order_[now_].data(),
                owner_[now_].data(),
                order_[1 - now_].data(),
                owner_[1 - now_].data(),
                sides_.data(),
                room(cuts_, count),
                flags_.data(),
                before_.data()};
    start("measure", measure, n_, v);
    start("choose_cuts", choose_cuts, count, v, options_.leaf);
    start("flag_first_halves", flag_first_halves, n_ + 1, v);
    scan(v.flags, v.before, n_ + 1);
    start("flag_cut_clusters", flag_cut_clusters, count + 1, v);
    scan(v.flags, sons_.data(), count + 1);
    copy(cut_.there.take(1), sons_.data() + count, 1, cudaMemcpyDeviceToDevice);
    const i32 cut = heard(cut_);
    if (cut == 0) return 0;
    const i64 so_far = i64(first) + count;
    v.clusters = extended(clusters_, so_far, 2 * i64(cut));
    start("make_sons", make_sons, count, v, sons_.data());
    start("part_points", part_points, n_, v, sons_.data());
    now_ = 1 - now_;
    return cut;
  }

  void pair() {
    start("measure_boxes", measure_boxes, clusters_count_, clusters_.data(), clusters_count_,
          room(diameters_, clusters_count_));
    const Pair root{0, 0};
    copy(pairs_[0].take(1), &root, 1, cudaMemcpyHostToDevice);
    for (i64 count = 1, level = 0; count > 0; level++) {
      const Found found = judge_level(pairs_[level % 2], count, pairs_[1 - level % 2]);
      nodes_ += i64(found.nodes);
      leaves_count_ += i64(found.leaves);
      count = 4 * i64(found.nodes);
    }
  }

  Found judge_level(const DeviceArrayOf<Pair>& pairs, i64 count, DeviceArrayOf<Pair>& next) {
    PairsView v{.clusters = clusters_.data(),
                .diameters = diameters_.data(),
                .rule = {options_.eta, options_.leaf + 1},
                .pairs = pairs.data(),
                .count = count,
                .kinds = room(kinds_, count),
                .found = found_.there.take(1),
                .columns = n_};
    clear(v.found, 0, sizeof(Found));
    start("judge", judge, count, v);
    const Found found = heard(found_);
    v.next = room(next, 4 * i64(found.nodes));
    v.leaves = extended(leaves_, leaves_count_, i64(found.leaves)) + leaves_count_;
    v.keys = extended(keys_, leaves_count_, i64(found.leaves)) + leaves_count_;
    clear(v.found, 0, sizeof(Found));
    start("descend", descend, count, v);
    return found;
  }

  void sort() {
    const int bits = std::bit_width(u64(n_) * u64(n_));
    Word* const keys = room(sorted_keys_, leaves_count_);
    Block* const sorted = extended(sorted_, 0, leaves_count_);
    with_space("cub::DeviceRadixSort", [&](void* space, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(space, bytes, keys_.data(), keys, leaves_.data(), sorted, leaves_count_, 0, bits,
                                             stream_);
    });
  }

  int device_;
  bool is_lost_ = false;
  const double* host_points_;
  i64 n_;
  TreeOptions options_;
  cudaStream_t stream_ = nullptr;
  DeviceArrayOf<double> points_;
  DeviceArrayOf<i32> order_[2], owner_[2], flags_, before_, sons_;
  int now_ = 0;  // of the two
  DeviceArrayOf<Cluster> clusters_;
  i64 clusters_count_ = 0;
  DeviceArrayOf<Word> sides_;
  DeviceArrayOf<CutAt> cuts_;
  Message<i32> cut_;
  DeviceArrayOf<double> diameters_;
  DeviceArrayOf<Pair> pairs_[2];
  DeviceArrayOf<Kind> kinds_;
  Message<Found> found_;
  DeviceArrayOf<Block> leaves_, sorted_;
  DeviceArrayOf<Word> keys_, sorted_keys_;
  i64 nodes_ = 0, leaves_count_ = 0;
  DeviceArrayOf<char> space_;
};

}  // namespace

Trees trees_on_gpu(int device, const double* points, i64 n, const TreeOptions& options) {
  cuda::OnDevice here(device);
  auto planter = std::make_unique<Planter>(device, points, n, options);
  try {
    return (*planter)();
  } catch (const Error&) {
    if (planter->is_lost()) static_cast<void>(planter.release());  // who frees what it uses would wait for ever
    throw;
  }
}

void begin_gpu(int device) {
  cuda::OnDevice here(device);
  call("cudaFree", cudaFree(nullptr));
}

}  // namespace sordino::hmatrix
