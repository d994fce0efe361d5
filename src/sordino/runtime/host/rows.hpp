// Rows between ranks of the host engine: those of one process read each other's memory.
#pragma once
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/row_port.hpp"

namespace sordino::host {

class HostRows final : public RowPort {
 public:
  explicit HostRows(HostEngine& engine) : engine_(engine) {}

  bool reaches(int rank, int other) const override;
  Carrier carrier(int from, int to) const override { return engine_.carrier(from, to); }
  double* address(Rank& rank, const RowsOf& rows) override;
  void copy(Rank& at, double* to, const double* from, i64 count, RowMark ready, RowMark complete) override;
  void load(Rank& rank, const RowsOf& rows, double* to) override;
  void store(Rank& rank, const RowsOf& rows, const double* from, RowMark ready) override;

 private:
  HostEngine& engine_;
};

}  // namespace sordino::host
