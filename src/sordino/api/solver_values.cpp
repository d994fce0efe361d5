// New values of a Solver's matrix, by rows or by the fields of a grid.
#include "sordino/api/factorizing.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/api/inspect.hpp"
#include "sordino/api/levels_choice.hpp"
#include "sordino/api/singular.hpp"
#include "sordino/api/solver_state.hpp"
#include "sordino/api/symmetry.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/shared_cores.hpp"

namespace sordino {

/// What storage=auto took for symmetric values does not hold others; then all is set up anew.
bool Solver::State::holds(const CsrView& updated) const {
  if (options.storage != "auto" || !another_engine) require_storable(updated, chosen.storage.diagonals);
  return is_set_up && (!chosen.storage.diagonals.symmetric || has_equal_mirrors(updated));
}

void Solver::State::refactorize(const CsrView& updated) {
  if (chosen.levels) chosen.levels->update(updated);
  sordino::refactorize(engine(), parts, chosen, updated, A);
}

void Solver::State::rescale(const CsrView& updated) {
  scaled->update_values(updated);
  try {
    require_few_kinds(*scaled, chosen.storage.diagonals);
  } catch (const Error&) {
    scaled->update_values(A);  // which has been overwritten
    throw;
  }
}

void Solver::State::set_up_again() {
  is_set_up = chosen.mirrored = false;
  set_up(another_engine());
}

void Solver::State::update_rows(const double* given) {
  validate_values(A, given);
  CsrView updated = A;
  updated.values = given;
  require_symmetry_of(*chosen.method, updated);
  require_roots(*chosen.method, chosen.preconditioner, updated);
  require_mapped_to_zero(updated, system.nullspace);
  require_incomplete_fits(chosen, [&] { return symmetry_of(updated).symmetric; });
  bool held = holds(updated);
  if (chosen.preconditioner == "jacobi") choose_preconditioner(updated, "jacobi");  // says which diagonal entry is zero
  if (scaled) rescale(updated);
  if (chosen.preconditioner == "chebyshev") chosen.bound = spectral_bound(updated);
  if (held) refactorize(updated);
  held = held && (!chosen.levels || !another_engine || chosen.levels->fits());
  A = updated;
  if (given == next_values.data()) values.swap(next_values);
  if (!held) return set_up_again();
  engine().run([&](Rank& rank) {
    SharedCores share(engine().local_ranks());
    parts[std::size_t(rank.id() - engine().first_rank())].update_values(rank, A, scaled.get(), chosen.bound);
  });
}

/// Where levels are made of fields, and nobody has rows.
void Solver::State::update_fields(const GridMatrix& fields) {
  if (is_set_up)
    update_levels(chosen, system, fields, gpus_of(engine()), callers.stream());
  else
    wait_for_fields(fields, callers.stream());  // set_up() knows of no stream
  system.grid = fields;
  if (!is_set_up || (another_engine && !chosen.levels->fits())) {
    if (chosen.levels) chosen.levels->release();
    return set_up_again();
  }
  engine().run([&](Rank& rank) {
    SharedCores share(engine().local_ranks());
    parts[std::size_t(rank.id() - engine().first_rank())].update_made(rank);
  });
  chosen.levels->release();
}

void Solver::update_values(const double* values) {
  SharedCores all;
  State& s = *state_;
  if (!s.system.has_entries())
    bad_argument(std::string("the matrix is ") + s.system.stands_as() + ", which has no values to update");
  if (on_gpu(values, "values")) {
    s.next_values.resize(std::size_t(s.A.nnz() * s.A.words));
    copy_callers(s.next_values.data(), values, s.next_values.size() * sizeof(double), s.callers.stream());
    values = s.next_values.data();
  }
  s.update_rows(values);
}

void Solver::update_values(const GridMatrix& fields) {
  SharedCores all;
  State& s = *state_;
  require_like(fields, s.fields);
  if (s.system.grid.is_given()) return s.update_fields(fields);
  s.next_values.resize(std::size_t(s.A.nnz()));
  values_of(FieldsOnHost(fields, s.callers.stream()).view(), s.next_values.data());
  s.update_rows(s.next_values.data());
  s.of_grid.values = {};  // the first ones, which nobody reads any more
}

}  // namespace sordino
