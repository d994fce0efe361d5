// What the kernel of a substitution by levels is given: a rank's rows, in device memory, cut into slices that a warp takes.
#pragma once
#include "sordino/runtime/cuda/device_team.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/level_plan.hpp"
#include "sordino/trsv/level_slices.hpp"

namespace sordino::trsv {

/// Each byte of a place of x that waits for its number: its words are then NaNs that no arithmetic makes (level_memory.cuh).
inline constexpr int no_number = 0xff;

/// Everything lies on the rank's device. A place of x that nobody has written yet holds `no_number` in all its words.
template <class V>
struct LevelTables {
  const LevelSlice* slices = nullptr;  // in the order of the levels
  const LevelRow* rows = nullptr;
  const V* pivots = nullptr;  // [own rows] reciprocals
  const i32* columns = nullptr;
  const V* values = nullptr;
  u32* tickets = nullptr;           // slices taken so far, by all passes
  u32* leaving = nullptr;           // blocks that have ended
  i32 count = 0;                    // slices
  cuda::Symmetric<V> x[2] = {};     // [n][columns of the pass]; passes take turns
  cuda::Symmetric<u32> ended = {};  // [ranks] the pass that a rank has ended
  i32 channel = 0;
};

/// One pass of a solve, over K columns of b at a time.
template <class V>
struct LevelPass {
  const V* b = nullptr;  // the pass's first column; rows are `stride` apart
  V* result = nullptr;
  i64 stride = 1;
  i64 used = 0;  // numbers of the other x that the pass before has written: they are taken away while this one runs
  u32* not_finite = nullptr;  // of the host's: the last pass with a number of x that was NaN or infinite
  u32 epoch = 0;              // counts passes
  u32 first_ticket = 0;
  bool conjugate = false;
};

/// A rank's part of a factor, on its GPU.
template <class V>
class LevelPart {
 public:
  /// Of rank `rank` of the plan, on the current device. Values are not there yet. Memory: a value and 4 B for each entry and
  /// place without one, of which there are at most as many, about; and 16 B and a value for each row.
  LevelPart(const LevelRows& rows, const Plan& plan, int rank);
  void fill(const LevelFactor<V>& factor);

  LevelTables<V> tables() const;
  i32 slices() const { return i32(packed_.slices().size()); }
  i64 value_bytes() const { return values_on_gpu_.bytes() + pivots_on_gpu_.bytes(); }
  i64 table_bytes() const { return slices_on_gpu_.bytes() + rows_on_gpu_.bytes() + columns_on_gpu_.bytes(); }

 private:
  Direction direction_;
  LevelSlices packed_;
  OnGpu<LevelSlice> slices_on_gpu_;
  OnGpu<LevelRow> rows_on_gpu_;
  OnGpu<i32> columns_on_gpu_;
  OnGpu<V> values_on_gpu_, pivots_on_gpu_;
  OnGpu<u32> counters_;  // tickets, blocks that have ended
};

}  // namespace sordino::trsv
