// Levels that a GPU makes of a grid's fields: bit by bit those of the host's threads, and nothing of large ones on the host.
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "sordino/base/error.hpp"
#include "sordino/precond/cuda/device_grid.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "support.hpp"
#include "unit/fields.hpp"
#include "unit/fresh.hpp"

namespace {

using namespace sordino;
using fields::Fields, fields::Wanted;

/// Fields in memory of a GPU.
class OnGpu {
 public:
  OnGpu(const Fields& fields, int device) : cells_(fields.cells) {
    const cuda::OnDevice here(device);
    arrays_[0] = sent(fields.diagonal);
    for (std::size_t d = 0; d < 3; d++) arrays_[d + 1] = sent(fields.ahead[d]);
  }
  ~OnGpu() {
    for (double* array : arrays_) cudaFree(array);
  }
  OnGpu(const OnGpu&) = delete;
  GridMatrix view() const { return {.cells = cells_, .diagonal = arrays_[0], .ahead = {arrays_[1], arrays_[2], arrays_[3]}}; }

 private:
  static double* sent(const std::vector<double>& from) {
    double* to = nullptr;
    cuda::call("cudaMalloc", cudaMalloc(&to, from.size() * sizeof(double)));
    cuda::call("cudaMemcpy", cudaMemcpy(to, from.data(), from.size() * sizeof(double), cudaMemcpyHostToDevice));
    return to;
  }
  Extents cells_;
  double* arrays_[4];
};

GridLevels levels_by(const std::vector<int>& gpus, const GridMatrix& A, int ranks) {
  const auto slabs = std::make_shared<GridSlabs>(A, gpus);
  const auto strengths = slabs->strengths();
  const Tiling layers = grid_layers(strengths, A.cells, ranks, level_rows_of_gpus);
  return GridLevels(slabs, strengths, partition_in_layers(A.n(), layers, ranks), level_rows_of_gpus);
}

const std::vector<int> by_host{-1};

template <class T>
std::vector<T> fetched(const T* from, i64 count) {
  std::vector<T> to(static_cast<std::size_t>(count));
  cuda::call("cudaMemcpy", cudaMemcpy(to.data(), from, to.size() * sizeof(T), cudaMemcpyDefault));
  return to;
}

template <class T>
bool same_bits(const T* a, const T* b, i64 count) {
  const std::vector<T> here = fetched(a, count), there = fetched(b, count);
  return std::memcmp(here.data(), there.data(), here.size() * sizeof(T)) == 0;
}

bool same_rows(const LargeCsr& a, const LargeCsr& b) {
  return a.n == b.n && a.view().nnz() == b.view().nnz() && same_bits(a.indices.data(), b.indices.data(), a.view().nnz()) &&
         same_bits(a.values.data(), b.values.data(), a.view().nnz());
}

/// Of what GPUs have made of a level, slab by slab, and of what one maker of the host has.
void compare_slabs(const SlabLevel& gpus, const SlabLevel& host) {
  const MadeLevel& all = host.slabs.front().made;
  for (const MadeSlab& slab : gpus.slabs) {
    const i64 rows = slab.end - slab.begin, fine_rows = slab.fine_end - slab.fine_begin;
    if (slab.made.A.is_given()) {
      const i64 own = slab.begin - slab.first;
      CHECK(same_bits(slab.made.A.diagonal + own, all.A.diagonal + slab.begin, rows));
      CHECK(same_bits(gpus.inverse_diagonal(slab.begin), host.inverse_diagonal(slab.begin), rows));
      for (std::size_t d = 0; d < 3; d++) {
        if (!all.A.ahead[d]) continue;
        std::vector<double> here = fetched(slab.made.A.ahead[d] + own, rows),
                            there = fetched(all.A.ahead[d] + slab.begin, rows);
        for (std::size_t k = 0; k < here.size(); k++)
          if (std::isnan(here[k]) && std::isnan(there[k])) here[k] = there[k] = 0;  // behind a last cell
        CHECK(here == there);
      }
    }
    if (fine_rows == 0) continue;
    CHECK(same_bits(gpus.restriction(slab.fine_begin), host.restriction(slab.fine_begin), fine_rows));
    CHECK(same_bits(gpus.interpolation(slab.fine_begin), host.interpolation(slab.fine_begin), fine_rows));
  }
}

/// How many levels stay on GPUs.
int compare(const GridLevels& gpus, const GridLevels& host) {
  CHECK(gpus.count() == host.count());
  CHECK(gpus.last_grid() == host.last_grid());
  CHECK(gpus.degree() == host.degree());
  int made = 0;
  for (int l = 0; l <= gpus.last_grid(); l++) {
    NOTE("level ", l);
    const GridLevel &there = gpus.level(l), &here = host.level(l);
    CHECK(there.bound == here.bound);
    CHECK(there.has_phases == here.has_phases);
    CHECK(there.partition.block_rows == here.partition.block_rows);
    CHECK(there.made.has_rows() == here.made.has_rows());
    made += there.made.has_rows();
    if (there.made.is_given()) compare_slabs(there.made, here.made);
    if (!there.made.has_rows()) CHECK(same_rows(there.A, here.A));
    if (l == 0 || there.made.is_given()) continue;
    CHECK(same_bits(there.restriction(0), here.restriction(0), gpus.level(l - 1).partition.n));
    CHECK(same_bits(there.interpolation(0), here.interpolation(0), gpus.level(l - 1).partition.n));
  }
  return made;
}

}  // namespace

TEST("a GPU makes levels of a grid's fields with the host's bits, with walls, solids, contrast and awkward sizes") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(921);
  for (int trial = 0; trial < 8; trial++) {
    const Wanted wanted{.digits = trial % 3 == 0 ? 0 : random.real(1, 6),
                        .solid = trial % 2 == 0 ? 0 : random.real(0, 0.3),
                        .stretched = trial % 4 == 3 ? random.real(2, 8) : 1,
                        .is_open = trial % 5 != 4};
    const Extents cells{random.whole(60, 90), random.whole(60, 90), random.whole(60, 90)};
    const Fields f = fields::random(cells, wanted, random);
    const OnGpu there(f, 0);
    for (int ranks : {1, 4}) {
      NOTE(shown(cells), ", trial ", trial, ", ", ranks, " ranks");
      CHECK(compare(levels_by({0}, there.view(), ranks), levels_by(by_host, f.view(), ranks)) >= 1);
    }
  }
}

TEST("so it does of planes and lines, and of fields that the host has") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(922);
  for (const Extents& cells : {Extents{401, 403, 1}, Extents{1, 700, 301}, Extents{70'001, 1, 1}}) {
    const Fields f = fields::random(cells, {.digits = 3, .solid = 0.05}, random);
    NOTE(shown(cells));
    CHECK(compare(levels_by({0}, f.view(), 1), levels_by(by_host, f.view(), 1)) >= 2);
  }
}

TEST(
    "new fields go through the levels that there are, with the host's bits, from that GPU, from another one and from the "
    "host") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(925);
  const Extents cells{67, 71, random.whole(61, 83)};
  const Fields first = fields::random(cells, {.digits = 2}, random);
  const OnGpu there(first, 0);
  GridLevels gpu = levels_by({0}, there.view(), 1), host = levels_by(by_host, first.view(), 1);
  const auto update = [](GridLevels& levels, const std::vector<int>& gpus, const GridMatrix& A) {
    levels.release();
    const auto slabs = std::make_shared<GridSlabs>(A, gpus);
    levels.update(slabs);
    return slabs->pieces();
  };
  for (int step = 0; step < 3; step++) {
    const Fields next = fields::random(cells, {.digits = 1.0 + step, .solid = 0.1 * step}, random);
    const OnGpu moved(next, step == 1 ? test::gpus() - 1 : 0);
    const i64 pieces = update(gpu, {0}, step == 2 ? next.view() : moved.view());
    update(host, by_host, next.view());
    NOTE(shown(cells), ", step ", step);
    const bool is_there = step == 0 || (step == 1 && test::gpus() == 1);
    if (!std::getenv("SORDINO_ARRAYS_APART")) CHECK(pieces == (is_there ? 1 : 2));
    CHECK(compare(gpu, host) >= 2);
    CHECK(gpu.fits() == host.fits());
  }
}

TEST("GPUs make slabs, one for each rank, of fields that one of them or the host has, with the host's bits") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(926);
  for (int trial = 0; trial < 4; trial++) {
    const int ranks = int(random.whole(2, 4));
    const Extents cells{random.whole(60, 90), random.whole(60, 90), random.whole(64, 120)};
    const Fields f = fields::random(cells, {.digits = random.real(0, 4), .solid = 0.1}, random);
    const OnGpu there(f, trial % test::gpus());
    std::vector<int> gpus;
    for (int rank = 0; rank < ranks; rank++) gpus.push_back(rank % test::gpus());
    NOTE(shown(cells), ", ", ranks, " ranks, trial ", trial);
    const GridLevels slabs = levels_by(gpus, trial == 3 ? f.view() : there.view(), ranks);
    CHECK(int(slabs.level(0).made.slabs.size()) == ranks);
    CHECK(compare(slabs, levels_by(by_host, f.view(), ranks)) >= 1);
  }
}

TEST("diagonals are filled where they are wanted, on either side") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(923);
  const Extents cells{random.whole(5, 40), random.whole(5, 40), random.whole(6, 40)};
  const Fields f = fields::random(cells, {.digits = 2, .solid = 0.1}, random);
  const OnGpu there(f, 0);
  const auto gpu = device_grid_maker(0), host = grid_maker(-1);
  const i64 layer = cells[0] * cells[1];
  for (bool symmetric : {false, true})
    for (i64 first : {i64(0), layer, layer * 3}) {
      const Diagonals diagonals{.offsets = offsets_of(cells), .symmetric = symmetric};
      const i64 rows = first == layer ? 2 * layer : cells[0] * cells[1] * cells[2] - first;
      const std::size_t stored = std::size_t(DiagonalPlaces(diagonals, rows).stored);
      std::vector<double> expected(stored, 0.0), found(stored, 0.0);
      host->fill(f.view(), diagonals, first, rows, expected.data());
      double* to = nullptr;
      cuda::call("cudaMalloc", cudaMalloc(&to, stored * sizeof(double)));
      cuda::call("cudaMemset", cudaMemset(to, 0, stored * sizeof(double)));
      cuda::call("cudaDeviceSynchronize", cudaDeviceSynchronize());  // the maker's stream does not wait for that one
      gpu->fill(there.view(), diagonals, first, rows, to);
      cuda::call("cudaMemcpy", cudaMemcpy(found.data(), to, stored * sizeof(double), cudaMemcpyDeviceToHost));
      cudaFree(to);
      NOTE(shown(cells), ", from row ", first, symmetric ? ", symmetric" : "");
      CHECK(found == expected);
    }
}

TEST("facts of bad fields are the host's") {
  test::need_gpu();
  NOTE(fresh::said());
  fresh::Random random(924);
  const Extents cells{61, 60, 59};
  Fields f = fields::random(cells, {}, random);
  const i64 n = f.view().n();
  f.diagonal[std::size_t(random.whole(0, n - 1))] = 0;
  f.diagonal[std::size_t(random.whole(0, n - 1))] = -1;
  f.diagonal[std::size_t(random.whole(0, n - 1))] = std::nan("");
  const OnGpu there(f, 0);
  const GridFacts found = device_grid_maker(0)->facts(there.view(), 0, n), expected = grid_maker(-1)->facts(f.view(), 0, n);
  CHECK(found.not_positive == expected.not_positive);
  CHECK(found.not_finite == expected.not_finite);
  CHECK(found.steep == expected.steep);
  CHECK(found.is_open == expected.is_open);
  f = fields::random(cells, {.digits = 2, .solid = 0.1, .is_open = false}, random);
  const OnGpu closed(f, 0);
  const GridFacts of_gpu = device_grid_maker(0)->facts(closed.view(), 0, n), of_host = grid_maker(-1)->facts(f.view(), 0, n);
  CHECK(of_gpu.sum == of_host.sum);
  CHECK(of_gpu.magnitudes == of_host.magnitudes);
  CHECK(of_gpu.bound == of_host.bound);
  CHECK(!of_gpu.is_open);
}
