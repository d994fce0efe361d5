// What a GPU does to a level of clusters: boxes, cuts, sons, and points that go where their half is.
#pragma once
#include "sordino/hmatrix/cluster_tree.hpp"
#include "sordino/runtime/cuda/workbench.cuh"

namespace sordino::hmatrix::level_kernels {

using cuda::my_number;
using Word = unsigned long long;

constexpr unsigned all_lanes = ~0u;
constexpr int sides = 6;  // of a box

/// Whole numbers in the order of the numbers they stand for, which have no -0.0.
inline __device__ Word word_of(double x) {
  const Word bits = Word(__double_as_longlong(x + 0.0));
  return bits >> 63 ? ~bits : bits | Word(1) << 63;
}
inline __device__ double number_of(Word word) {
  return __longlong_as_double(i64(word >> 63 ? word & ~(Word(1) << 63) : ~word));
}

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
static __global__ void measure(LevelView v) {
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

static __global__ void choose_cuts(LevelView v, i32 most) {
  const i64 k = my_number();
  if (k >= v.count) return;
  Cluster& cluster = v.clusters[v.first + k];
  for (int axis = 0; axis < 3; axis++) {
    cluster.box.lower[axis] = number_of(v.sides[sides * k + axis]);
    cluster.box.upper[axis] = number_of(~v.sides[sides * k + axis + 3]);
  }
  v.cuts[k].cut = cut_of(cluster.box, cluster.size(), most);
}

static __global__ void flag_first_halves(LevelView v) {
  const i64 place = my_number();
  if (place > v.n) return;
  const i32 own = place < v.n ? v.owner[place] : -1;
  const Cut cut = own < 0 ? Cut{} : v.cuts[own].cut;
  v.flags[place] = cut.axis >= 0 && cut.takes_first(v.points + 3 * i64(v.order[place]));
}

/// Half of a cluster may have no point: of neighbouring numbers the mean is the greater one.
static __global__ void flag_cut_clusters(LevelView v) {
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
static __global__ void make_sons(LevelView v, const i32* sons) {
  const i64 k = my_number();
  if (k >= v.count || v.cuts[k].cut.axis < 0) return;
  Cluster& cluster = v.clusters[v.first + k];
  cluster.sons = v.first + v.count + 2 * sons[k];
  v.clusters[cluster.sons] = {cluster.begin, v.cuts[k].place};
  v.clusters[cluster.sons + 1] = {v.cuts[k].place, cluster.end};
}

/// Points go where their half is, in their order.
static __global__ void part_points(LevelView v, const i32* sons) {
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

static __global__ void count_up(i32* order, i64 n) {
  const i64 place = my_number();
  if (place < n) order[place] = i32(place);
}

}  // namespace sordino::hmatrix::level_kernels
