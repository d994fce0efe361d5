// Compiled without fused products and sums: boxes are as far from each other as the host finds them.
#include "sordino/hmatrix/cuda/device_trees.hpp"

#include <bit>
#include <memory>

#include "sordino/hmatrix/cuda/block_kernels.cuh"
#include "sordino/hmatrix/cuda/cluster_kernels.cuh"
#include "sordino/runtime/cuda/workbench.cuh"

namespace sordino::hmatrix {
namespace {

using namespace level_kernels;
using cuda::call, cuda::DeviceArrayOf, cuda::Message;

/// A GPU that makes the trees of some points.
class Planter : private cuda::Workbench {
 public:
  Planter(int device, const double* points, i64 n, const TreeOptions& options)
      : Workbench(device, "trees of an H-matrix"), host_points_(points), n_(n), options_(options) {}

  using Workbench::is_lost;
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
                                             stream());
    });
  }

  const double* host_points_;
  i64 n_;
  TreeOptions options_;
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
};

}  // namespace

Trees trees_on_gpu(int device, const double* points, i64 n, const TreeOptions& options) {
  cuda::OnDevice here(device);
  auto planter = std::make_unique<Planter>(device, points, n, options);
  return cuda::with_maker(planter, [](Planter& made) { return made(); });
}

void begin_gpu(int device) {
  cuda::OnDevice here(device);
  call("cudaFree", cudaFree(nullptr));
}

}  // namespace sordino::hmatrix
