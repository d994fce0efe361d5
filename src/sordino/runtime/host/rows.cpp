#include "sordino/runtime/host/rows.hpp"

#include <cstring>

namespace sordino::host {

bool HostRows::reaches(int rank, int other) const { return engine_.is_local(rank) && engine_.is_local(other); }

double* HostRows::address(Rank& rank, const RowsOf& rows) {
  return engine_.memory(rank.id()).vectors[std::size_t(rows.physical)].get() + rows.first;
}

void HostRows::copy(Rank&, double* to, const double* from, i64 count, RowMark, RowMark) {
  if (count > 0) std::memcpy(to, from, std::size_t(count) * sizeof(double));
}

void HostRows::load(Rank& rank, const RowsOf& rows, double* to) { copy(rank, to, address(rank, rows), rows.count, {}, {}); }

void HostRows::store(Rank& rank, const RowsOf& rows, const double* from, RowMark) {
  copy(rank, address(rank, rows), from, rows.count, {}, {});
}

RowPort& HostEngine::row_port() { return *rows_; }

}  // namespace sordino::host
