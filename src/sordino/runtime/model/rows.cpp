#include "sordino/runtime/model/rows.hpp"

#include <cstring>

namespace sordino::model {

double* ModelRows::address(Rank& rank, const RowsOf& rows) {
  return engine_.place(rank).vectors[std::size_t(rows.physical)].get() + rows.first;
}

void ModelRows::copy(Rank&, double* to, const double* from, i64 count, RowMark, RowMark) {
  if (count > 0) std::memcpy(to, from, std::size_t(count) * sizeof(double));
}

void ModelRows::load(Rank& rank, const RowsOf& rows, double* to) {
  if (engine_.arithmetic()) copy(rank, to, address(rank, rows), rows.count, {}, {});
}

void ModelRows::store(Rank& rank, const RowsOf& rows, const double* from, RowMark) {
  if (engine_.arithmetic()) copy(rank, address(rank, rows), from, rows.count, {}, {});
}

RowPort& ModelEngine::row_port() { return *rows_; }

}  // namespace sordino::model
