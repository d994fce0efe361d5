// Systems whose matrix is given by the fields of a grid (linalg/grid_matrix.hpp): set up where these lie, or by rows like any.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sordino/api/callers.hpp"
#include "sordino/api/system.hpp"
#include "sordino/linalg/large_csr.hpp"

namespace sordino {

/// A grid's fields where the host can read them, as long as this lives: the caller's own, or copies of those on a GPU, 32 bytes
/// a cell, behind what the stream has been given to do, null: the legacy default stream.
class FieldsOnHost {
 public:
  explicit FieldsOnHost(const GridMatrix& given, void* stream = nullptr);
  const GridMatrix& view() const { return view_; }

 private:
  std::vector<std::unique_ptr<OnHost<double>>> arrays_;
  GridMatrix view_;
};

/// Until the stream has written fields that are on a GPU; null: the legacy default stream.
void wait_for_fields(const GridMatrix& fields, void* stream);

/// Why rows are made of a system that is given by fields, in words that go on after "rows are made of the fields, as "; empty:
/// nobody needs them. That is so with precond mg in double, smoothed by polynomials, by real diagonals in the order of cells,
/// of more than GridLevels::most_on_host cells and none but one or three and more in a direction, between walls, without a
/// nullspace but of constants. Ranks own layers (partition blocks, no cuts) and their part of each vector: vectors auto, and a
/// solver that does not keep all on every rank. On any engine but model, which reckons with rows.
std::string why_rows(const System& system, const Options& options);
bool stays_by_fields(const System& system, const Options& options);
/// The same as a sentence without its point; empty for a system that is not given by fields.
std::string how_fields_are_taken(const System& system, const Options& options);

/// Whether precond=auto takes mg, and levels that are made where fields lie: on GPUs, which make those sooner than the CPU
/// makes the rows that any other preconditioner is of. With cg, as of rows (levels_choice.hpp), and where stays_by_fields()
/// then.
bool prefers_levels(const System& system, const Options& options);
/// What is then asked for.
Options with_levels(Options options);

/// The options with the grid of the matrix, where it is given by fields. Throws bad_argument if they name another one, or the
/// matrix is none.
Options with_grid(const System& system, Options options);

/// Throws bad_argument unless new fields are all there, and of as many cells, and as periodic, as those before.
void require_like(const GridMatrix& fields, const GridMatrix& before);

/// Nothing where stays_by_fields(); else the rows, which from now on are the system's matrix. Cost: two passes over them, and a
/// copy of fields that are on a GPU.
LargeCsr rows_unless_by_fields(System& system, const Options& options);

/// What the rows take that are made of a system as it was given; 0 where none are.
i64 bytes_of_made_rows(const System& system, const Options& options);

}  // namespace sordino
