// What precond=auto takes of a matrix that is given by the fields of a grid.
#include "sordino/api/grid_system.hpp"

#include <functional>

#include "check.hpp"

using namespace sordino;

namespace {

/// Of more cells than levels that the host makes have; nobody reads the arrays.
System of_fields(const Extents& cells = {40, 33, 29}) {
  static const double number = 1;
  System system{.A = {.n = cells[0] * cells[1] * cells[2]}};
  system.grid = {.cells = cells, .diagonal = &number, .ahead = {&number, &number, &number}};
  return system;
}

Options on_gpus() {
  Options o;
  o.engine = "cuda";
  return o;
}

bool prefers(const std::function<void(Options&)>& change) {
  Options o = on_gpus();
  change(o);
  return prefers_levels(of_fields(), o);
}

}  // namespace

TEST("fields on GPUs: auto takes the levels that are made where they lie, with cg") {
  CHECK(prefers_levels(of_fields(), on_gpus()));
  CHECK(prefers([](Options& o) { o.solver = "cg"; }));
  CHECK(prefers([](Options& o) { o.deterministic = "on", o.ranks = 1; }));
  CHECK(with_levels(on_gpus()).precond == "mg");
}

TEST("fields on GPUs: auto takes rows where levels are not asked for, or are not of fields") {
  CHECK(!prefers([](Options& o) { o.engine = "host"; }));
  CHECK(!prefers([](Options& o) { o.precond = "jacobi"; }));
  CHECK(!prefers([](Options& o) { o.precond = "mg"; }));  // which needs no choice
  CHECK(!prefers([](Options& o) { o.solver = "bicgstab"; }));
  CHECK(!prefers([](Options& o) { o.cycle = "f"; }));
  CHECK(!prefers([](Options& o) { o.deterministic = "on"; }));
  CHECK(!prefers([](Options& o) { o.storage = "csr"; }));
  CHECK(!prefers([](Options& o) { o.cycle_precision = "single"; }));
  CHECK(!prefers_levels(of_fields({32, 32, 32}), on_gpus()));
  CHECK(!prefers_levels(of_fields({400, 300, 2}), on_gpus()));
  System with_diagonal = of_fields();
  with_diagonal.diagonal = {1.0};
  CHECK(!prefers_levels(with_diagonal, on_gpus()));
  CHECK(!prefers_levels(System{}, on_gpus()));
}
