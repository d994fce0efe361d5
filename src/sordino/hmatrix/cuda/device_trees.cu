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
#include "sordino/hmatrix/cuda/device_memory.hpp"

namespace sordino::hmatrix {
namespace {

using cuda::call;
using Word = unsigned long long;

constexpr int threads = 256;
constexpr unsigned all_lanes = ~0u;
constexpr int sides = 6;  // of a box

__device__ i64 my_number() { return i64(blockIdx.x) * blockDim.x + threadIdx.x; }

// ---- clusters --------------------------------------------------------------------------------------------------------

/// Whole numbers in the order of the numbers they stand for, which have no -0.0.
__device__ Word word_of(double x) {
  const Word bits = Word(__double_as_longlong(x + 0.0));
  return bits >> 63 ? ~bits : bits | Word(1) << 63;
}
__device__ double number_of(Word word) { return __longlong_as_double(i64(word >> 63 ? word & ~(Word(1) << 63) : ~word)); }

/// How a cluster of the level is cut, and where its second half begins.
struct CutAt {
  Cut cut;
  i32 place;
};

/// What a level works on. Clusters of a level are numbered from 0; the tree has them from `first` on.
struct LevelView {
  Cluster* clusters;
  i32 first, count;
  const double* points;
  i64 n;
  i32 *order, *owner;            // [n] of each place its point, and the level's cluster that it is in; -1: in none
  i32 *next_order, *next_owner;  // of the next level
  Word* sides;                   // [count][6] the least coordinate on each axis, and the greatest, as ~word: also the least
  CutAt* cuts;                   // [count]
  i32* flags;                    // [n + 1] of places: it is in a first half; or [count + 1] of clusters: it is cut
  i32* before;                   // [the same] how many flags are before it
};

/// Boxes around the points of clusters. Points of a cluster lie together, so lanes that have the same one are neighbours.
__global__ void measure(LevelView v) {
  const i64 place = my_number();
  const int lane = int(threadIdx.x) % 32;
  const i32 own = place < v.n ? v.owner[place] : -1;
  const double* point = own < 0 ? nullptr : v.points + 3 * i64(v.order[place]);
  const i32 previous = __shfl_up_sync(all_lanes, own, 1);
  const bool is_first = own >= 0 && (lane == 0 || previous != own);
  for (int side = 0; side < sides; side++) {
    Word least = ~Word(0);
    if (point) least = side < 3 ? word_of(point[side]) : ~word_of(point[side - 3]);
    for (int step = 1; step < 32; step *= 2) {
      const Word other = __shfl_down_sync(all_lanes, least, unsigned(step));
      const i32 of = __shfl_down_sync(all_lanes, own, unsigned(step));
      if (lane + step < 32 && of == own && other < least) least = other;
    }
    if (is_first) atomicMin(&v.sides[sides * i64(own) + side], least);
  }
}

__global__ void choose_cuts(LevelView v, i32 most) {
  const i64 k = my_number();
  if (k >= v.count) return;
  Cluster& cluster = v.clusters[v.first + k];
  for (int axis = 0; axis < 3; axis++) {
    cluster.box.lower[axis] = number_of(v.sides[sides * k + axis]);
    cluster.box.upper[axis] = number_of(~v.sides[sides * k + axis + 3]);
  }
  v.cuts[k].cut = cut_of(cluster.box, cluster.size(), most);
}

__global__ void flag_first_halves(LevelView v) {
  const i64 place = my_number();
  if (place > v.n) return;
  const i32 own = place < v.n ? v.owner[place] : -1;
  const Cut cut = own < 0 ? Cut{} : v.cuts[own].cut;
  v.flags[place] = cut.axis >= 0 && cut.takes_first(v.points + 3 * i64(v.order[place]));
}

/// Half of a cluster may have no point: of neighbouring numbers the mean is the greater one.
__global__ void flag_cut_clusters(LevelView v) {
  const i64 k = my_number();
  if (k > v.count) return;
  bool is_cut = false;
  if (k < v.count) {
    const Cluster cluster = v.clusters[v.first + k];
    CutAt& at = v.cuts[k];
    at.place = cluster.begin + v.before[cluster.end] - v.before[cluster.begin];
    is_cut = at.cut.axis >= 0 && at.place < cluster.end;
    if (!is_cut) at.cut.axis = -1;
  }
  v.flags[k] = is_cut;
}

/// Sons stand behind all clusters of their father's level. `sons`: pairs of them before each cluster's.
__global__ void make_sons(LevelView v, const i32* sons) {
  const i64 k = my_number();
  if (k >= v.count || v.cuts[k].cut.axis < 0) return;
  Cluster& cluster = v.clusters[v.first + k];
  cluster.sons = v.first + v.count + 2 * sons[k];
  v.clusters[cluster.sons] = {cluster.begin, v.cuts[k].place};
  v.clusters[cluster.sons + 1] = {v.cuts[k].place, cluster.end};
}

/// Points go where their half is, in their order.
__global__ void part_points(LevelView v, const i32* sons) {
  const i64 place = my_number();
  if (place >= v.n) return;
  const i32 own = v.owner[place];
  const bool is_cut = own >= 0 && v.cuts[own].cut.axis >= 0;
  i64 to = place;
  i32 owner = -1;
  if (is_cut) {
    const i32 begin = v.clusters[v.first + own].begin, firsts = v.before[place] - v.before[begin];
    const bool is_first = v.before[place + 1] > v.before[place];
    to = is_first ? begin + firsts : v.cuts[own].place + (place - begin - firsts);
    owner = 2 * sons[own] + !is_first;
  }
  v.next_order[to] = v.order[place];
  v.next_owner[to] = owner;
}

__global__ void count_up(i32* order, i64 n) {
  const i64 place = my_number();
  if (place < n) order[place] = i32(place);
}

// ---- blocks ----------------------------------------------------------------------------------------------------------

/// Clusters of rows and of columns.
struct Pair {
  i32 row, column;
};

enum class Kind : signed char { node, dense, admissible };

/// How many of a level's pairs are what.
struct Found {
  Word nodes, leaves;
};

/// What a level of pairs works on. The order of pairs does not matter: leaves are sorted at the end.
struct PairsView {
  const Cluster* clusters;
  const double* diameters;
  BlockRule rule;
  const Pair* pairs;
  i64 count;
  Kind* kinds;   // [count]
  Found* found;  // how many of each there are; then places that are taken
  i64 columns;
  Pair* next = nullptr;     // [4 nodes]
  Block* leaves = nullptr;  // behind those of other levels
  Word* keys = nullptr;     // of leaves: by first row, then by first column
};

__global__ void measure_boxes(const Cluster* clusters, i64 count, double* diameters) {
  const i64 c = my_number();
  if (c < count) diameters[c] = clusters[c].box.diameter();
}

/// A place behind those that others have taken, for each lane that wants one; a warp asks once.
__device__ Word place_in(Word* taken, bool wants) {
  const unsigned who = __ballot_sync(all_lanes, wants), lane = threadIdx.x % 32;
  Word first = 0;
  if (lane == 0 && who) first = atomicAdd(taken, Word(__popc(who)));
  return __shfl_sync(all_lanes, first, 0) + Word(__popc(who & ((1u << lane) - 1)));
}

__global__ void judge(PairsView v) {
  const i64 k = my_number();
  bool is_node = false, is_leaf = false;
  if (k < v.count) {
    const Pair pair = v.pairs[k];
    const Cluster row = v.clusters[pair.row], column = v.clusters[pair.column];
    const bool admissible = v.rule.is_admissible(row, column, v.diameters[pair.row], v.diameters[pair.column]);
    is_leaf = admissible || v.rule.is_small(row, column);
    is_node = !is_leaf;
    v.kinds[k] = is_node ? Kind::node : admissible ? Kind::admissible : Kind::dense;
  }
  const int nodes = __syncthreads_count(is_node), leaves = __syncthreads_count(is_leaf);
  if (threadIdx.x == 0 && nodes) atomicAdd(&v.found->nodes, Word(nodes));
  if (threadIdx.x == 0 && leaves) atomicAdd(&v.found->leaves, Word(leaves));
}

__global__ void descend(PairsView v) {
  const i64 k = my_number();
  const bool is_there = k < v.count, is_node = is_there && v.kinds[k] == Kind::node;
  const Word node = place_in(&v.found->nodes, is_node), leaf = place_in(&v.found->leaves, is_there && !is_node);
  if (!is_there) return;
  const Cluster row = v.clusters[v.pairs[k].row], column = v.clusters[v.pairs[k].column];
  if (is_node) {
    for (i32 i = 0; i < 4; i++) v.next[4 * node + Word(i)] = {row.sons + i / 2, column.sons + i % 2};
    return;
  }
  v.leaves[leaf] = {{row.begin, row.end}, {column.begin, column.end}, v.kinds[k] == Kind::admissible};
  v.keys[leaf] = Word(row.begin) * Word(v.columns) + Word(column.begin);
}

// ---- both ------------------------------------------------------------------------------------------------------------

/// A GPU that makes the trees of some points.
class Planter {
 public:
  Planter(int device, const double* points, i64 n, const TreeOptions& options) : device_(device), n_(n), options_(options) {
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    copy(points_.take(3 * n), points, 3 * n, cudaMemcpyHostToDevice);
    for (auto* array : {&order_[0], &order_[1], &owner_[0], &owner_[1]}) array->take(n);
    for (auto* array : {&flags_, &before_, &sons_}) array->take(n + 1);
  }
  ~Planter() { cudaStreamDestroy(stream_); }
  Planter(const Planter&) = delete;

  bool is_lost() const { return is_lost_; }
  Trees operator()() {
    Trees trees;
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

  /// A step of cub: asked for the bytes that it wants, then made with them.
  template <class Step>
  void with_space(const char* name, const Step& step) {
    std::size_t bytes = 0;
    call(name, step(nullptr, bytes));
    call(name, step(space_.take(i64(bytes)), bytes));
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
    clear(sides_.take(sides * i64(count)), 0xff, sides * i64(count) * i64(sizeof(Word)));
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
                cuts_.take(count),
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
    v.clusters = clusters_.extend(so_far + 2 * i64(cut), so_far, stream_);
    start("make_sons", make_sons, count, v, sons_.data());
    start("part_points", part_points, n_, v, sons_.data());
    now_ = 1 - now_;
    return cut;
  }

  void pair() {
    start("measure_boxes", measure_boxes, clusters_count_, clusters_.data(), clusters_count_, diameters_.take(clusters_count_));
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
                .kinds = kinds_.take(count),
                .found = found_.there.take(1),
                .columns = n_};
    clear(v.found, 0, sizeof(Found));
    start("judge", judge, count, v);
    const Found found = heard(found_);
    v.next = next.take(4 * i64(found.nodes));
    const i64 leaves = leaves_count_ + i64(found.leaves);
    v.leaves = leaves_.extend(leaves, leaves_count_, stream_) + leaves_count_;
    v.keys = keys_.extend(leaves, leaves_count_, stream_) + leaves_count_;
    clear(v.found, 0, sizeof(Found));
    start("descend", descend, count, v);
    return found;
  }

  void sort() {
    const int bits = std::bit_width(u64(n_) * u64(n_));
    Word* const keys = sorted_keys_.take(leaves_count_);
    Block* const sorted = sorted_.take(leaves_count_);
    with_space("cub::DeviceRadixSort", [&](void* space, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(space, bytes, keys_.data(), keys, leaves_.data(), sorted, leaves_count_, 0, bits,
                                             stream_);
    });
  }

  int device_;
  bool is_lost_ = false;
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
