// Rows between ranks of the model travel as host data, so that they take its time.
#pragma once
#include "sordino/runtime/model/engine.hpp"
#include "sordino/runtime/row_port.hpp"

namespace sordino::model {

class ModelRows final : public RowPort {
 public:
  explicit ModelRows(ModelEngine& engine) : engine_(engine) {}

  bool reaches(int, int) const override { return false; }
  Carrier carrier(int from, int to) const override { return engine_.carrier(from, to); }
  double* address(Rank& rank, const RowsOf& rows) override;
  void copy(Rank& at, double* to, const double* from, i64 count, RowMark ready, RowMark complete) override;
  void load(Rank& rank, const RowsOf& rows, double* to) override;  // nothing where arithmetic is skipped; likewise
  void store(Rank& rank, const RowsOf& rows, const double* from, RowMark ready) override;

 private:
  ModelEngine& engine_;
};

}  // namespace sordino::model
