// A rank's slice by diagonals that its rows are not in the order of: the part of CsrOperator::Layout for boxes.
#include "sordino/linalg/csr_layout.hpp"

namespace sordino {

CsrOperator::Layout::Layout(Rank& rank, const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own,
                            const Diagonals& diagonals)
    : rank_(rank), words_(1), viewed_(nullptr), runs_(find_row_runs(A, slice, columns, first, own, diagonals)) {
  reserve_places(runs_.stored);
  const bool device = rank.engine().is_device();
  const RunsView view{device ? upload(runs_.starts) : runs_.starts.data(),
                      device ? upload(runs_.diagonals) : runs_.diagonals.data(), i32(diagonals.offsets.size()), runs_.bytes()};
  auto in_runs = [&](auto entries) { return Real{BoxRowsOf<decltype(entries)>{entries, view, first, slice.entries, {}, {}}}; };
  rows_ = diagonals.constant ? in_runs(shared_entries(A, slice, diagonals)) : in_runs(own_entries(A, slice, diagonals));
}

i64 CsrOperator::Layout::bytes_by_runs(const CsrView& A, const CsrSlice& slice, const i32* columns, i32 first, i64 own,
                                       bool device, const Diagonals& diagonals) {
  const RowRuns runs = find_row_runs(A, slice, columns, first, own, diagonals);
  return bytes_of_places(runs.stored, slice, device, diagonals) + runs.bytes();
}

}  // namespace sordino
