// Levels that a GPU makes of a grid's fields: bit by bit those of the host's threads, and nothing of large ones on the host.
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

GridLevels levels_by(std::shared_ptr<GridMaker> maker, const GridMatrix& A, int ranks) {
  const GridMatrix taken = maker->taken(A);
  const auto strengths = maker->strengths(taken);
  const Tiling layers = grid_layers(strengths, A.cells, ranks, level_rows_of_gpus);
  const GridFacts facts = usable_facts(*maker, taken);
  return GridLevels(std::move(maker), taken, facts, strengths, partition_in_layers(A.n(), layers, ranks), level_rows_of_gpus);
}

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

/// How many levels stay on the GPU.
int compare(const GridLevels& gpu, const GridLevels& host, GridMaker& of_gpu) {
  CHECK(gpu.count() == host.count());
  CHECK(gpu.last_grid() == host.last_grid());
  CHECK(gpu.degree() == host.degree());
  int made = 0;
  for (int l = 0; l <= gpu.last_grid(); l++) {
    NOTE("level ", l);
    const GridLevel &there = gpu.level(l), &here = host.level(l);
    CHECK(there.bound == here.bound);
    CHECK(there.has_phases == here.has_phases);
    CHECK(there.partition.block_rows == here.partition.block_rows);
    CHECK(there.made.A.is_given() == here.made.A.is_given());
    if (there.made.A.is_given()) {
      made++;
      CHECK(same_rows(of_gpu.rows(there.made.A), rows_of(here.made.A)));
      CHECK(same_bits(there.made.inverse_diagonal, here.made.inverse_diagonal, there.partition.n));
    } else {
      CHECK(same_rows(there.A, here.A));
    }
    if (l == 0) continue;
    CHECK(same_bits(there.restriction(), here.restriction(), gpu.level(l - 1).partition.n));
    CHECK(same_bits(there.interpolation(), here.interpolation(), gpu.level(l - 1).partition.n));
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
      const std::shared_ptr<GridMaker> maker = device_grid_maker(0);
      const GridLevels gpu = levels_by(maker, there.view(), ranks), host = levels_by(grid_maker(-1), f.view(), ranks);
      CHECK(compare(gpu, host, *maker) >= 1);
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
    const std::shared_ptr<GridMaker> maker = device_grid_maker(0);
    CHECK(compare(levels_by(maker, f.view(), 1), levels_by(grid_maker(-1), f.view(), 1), *maker) >= 2);
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
  GridLevels gpu = levels_by(device_grid_maker(0), there.view(), 1), host = levels_by(grid_maker(-1), first.view(), 1);
  const auto update = [](GridLevels& levels, const std::shared_ptr<GridMaker>& maker, const GridMatrix& A) {
    levels.release();
    const GridMatrix taken = maker->taken(A);
    levels.update(maker, taken, usable_facts(*maker, taken));
  };
  for (int step = 0; step < 3; step++) {
    const Fields next = fields::random(cells, {.digits = 1.0 + step, .solid = 0.1 * step}, random);
    const OnGpu moved(next, step == 1 ? test::gpus() - 1 : 0);
    const std::shared_ptr<GridMaker> maker = device_grid_maker(0);
    update(gpu, maker, step == 2 ? next.view() : moved.view());
    update(host, grid_maker(-1), next.view());
    NOTE(shown(cells), ", step ", step);
    const bool is_there = step == 0 || (step == 1 && test::gpus() == 1);
    CHECK(maker->pieces() == (is_there ? 1 : 2));
    CHECK(compare(gpu, host, *maker) >= 2);
    CHECK(gpu.fits() == host.fits());
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
  const GridFacts found = device_grid_maker(0)->facts(there.view()), expected = grid_maker(-1)->facts(f.view());
  CHECK(found.not_positive == expected.not_positive);
  CHECK(found.not_finite == expected.not_finite);
  CHECK(found.steep == expected.steep);
  CHECK(found.is_open == expected.is_open);
  f = fields::random(cells, {.digits = 2, .solid = 0.1, .is_open = false}, random);
  const OnGpu closed(f, 0);
  const GridFacts of_gpu = device_grid_maker(0)->facts(closed.view()), of_host = grid_maker(-1)->facts(f.view());
  CHECK(of_gpu.sum == of_host.sum);
  CHECK(of_gpu.magnitudes == of_host.magnitudes);
  CHECK(of_gpu.bound == of_host.bound);
  CHECK(!of_gpu.is_open);
}
