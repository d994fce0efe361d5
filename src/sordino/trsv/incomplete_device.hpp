// A rank's incomplete factors on its GPU, and the command that applies them: two kernels, one for each way
// (incomplete_walk.hpp).
#pragma once
#include "sordino/runtime/engine_memory.hpp"
#include "sordino/trsv/incomplete_walk.hpp"
#include "sordino/trsv/incomplete_ways.hpp"

namespace sordino::trsv {

class IncompleteDevice {
 public:
  /// Tables of both ways where the rank's engine computes; values are not there yet. `one_row`: a space of one row a rank.
  /// `blocks`: of a kernel, for tests; 0: as many as there is room for. Memory: bytes_of() there, and 8 B for each place of an
  /// entry and 16 for each row here.
  IncompleteDevice(Rank& rank, const IncompletePattern& factors, Incomplete kind, int one_row, int blocks = 0);

  /// Values of the factors' entries, and reciprocals of the pivots of all rows, where no replay is under way.
  void fill(Rank& rank, const double* values, const double* inverse_pivots);

  /// z = M^-1 r. With e entries of L off the diagonal, and of U, each moves 12 e bytes, and 56 for each row, or 48 where the
  /// pivots are 1; and takes 2 operations for each entry, and one for each pivot.
  DeviceTask task(Vec r, Vec z) const;

  static i64 bytes_of(const IncompletePattern& factors, Incomplete kind);

 private:
  struct Stored {
    IncompleteWay way;
    WayTables tables = {};
    double *values = nullptr, *pivots = nullptr;
    i64 entries = 0;
  };
  Stored stored(Rank& rank, IncompleteWay way);

  EngineMemory memory_;
  Stored forward_, back_;
  Vec state_;  // stands for x and tickets: two applications at a time would spoil them
  int blocks_;
};

}  // namespace sordino::trsv
