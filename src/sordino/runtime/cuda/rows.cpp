#include "sordino/runtime/cuda/rows.hpp"

#include <algorithm>
#include <cstring>

#include "sordino/runtime/cuda/pointers.hpp"

namespace sordino::cuda {
namespace {

constexpr i64 box_words = i64(1) << 19;

}  // namespace

CudaRows::CudaRows(State& state) : state_(state), places_(state.ranks.size()) {
  for (std::size_t i = 0; i < places_.size(); i++) {
    RankState& r = *state_.ranks[i];
    bool reaches_all = true;
    for (int other = 0; other < state_.hall->ranks(); other++) reaches_all &= reaches(r.index, other);
    if (!reaches_all) places_[i].box = static_cast<double*>(state_.take_pinned(r, box_words * sizeof(double)));
  }
}

// Errors are not thrown from here, perhaps after a device has failed.
CudaRows::~CudaRows() {
  for (auto& r : state_.ranks)
    if (r->copies) cudaStreamSynchronize(r->copies);
  for (Place& p : places_)
    for (Mark& m : p.marks)
      if (m.event) cudaEventDestroy(m.event);
}

bool CudaRows::reaches(int rank, int other) const {
  const Hall& hall = *state_.hall;
  return hall.is_local(rank) && hall.is_local(other) && state_.link(rank, other) == Link::memory;
}

Carrier CudaRows::carrier(int from, int to) const {
  if (reaches(from, to)) return Carrier::peer_memory;
  return state_.hall->is_near(to) ? Carrier::host_memory : Carrier::mpi;
}

double* CudaRows::address(Rank& rank, const RowsOf& rows) {
  const VectorMemory& v = state_.of(rank).vectors[std::size_t(rows.physical)];
  return (v.copy_of ? v.copy_of : v.rows) + rows.first;
}

RowMark CudaRows::mark(Rank& rank, int users) {
  RankState& r = state_.of(rank);
  auto& marks = place(rank).marks;
  OnDevice on(r.device);
  auto is_free = [](const Mark& m) { return m.event && m.users.load(std::memory_order_acquire) == 0; };
  auto found = std::find_if(marks.begin(), marks.end(), is_free);
  if (found == marks.end()) {
    marks.emplace_back();
    found = std::prev(marks.end());
    call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&found->event, cudaEventDisableTiming));
    r.counters.allocations++;
  }
  call("cudaEventRecord", cudaEventRecord(found->event, r.stream));
  found->users.store(users, std::memory_order_relaxed);
  return &*found;
}

// Nothing here waits for what is not launched: each mark was made while its rank had no replay under way.
void CudaRows::copy(Rank& at, double* to, const double* from, i64 count, RowMark ready, RowMark complete) {
  RankState& r = state_.of(at);
  OnDevice on(r.device);
  for (RowMark before : {ready, complete})
    call("cudaStreamWaitEvent", cudaStreamWaitEvent(r.copies, static_cast<Mark*>(before)->event, 0));
  if (count > 0) start_copying(to, from, std::size_t(count) * sizeof(double), r.copies);
  call("cudaEventRecord", cudaEventRecord(static_cast<Mark*>(ready)->event, r.copies));
}

bool CudaRows::is_passed(RowMark mark) {
  cudaError_t e = cudaEventQuery(static_cast<Mark*>(mark)->event);
  if (e == cudaErrorNotReady) return false;
  call("cudaEventQuery", e);
  return true;
}

void CudaRows::wait(Rank& rank, RowMark mark, const std::function<std::string()>& what) {
  state_.wait(rank, [&] { return is_passed(mark); }, what);
}

void CudaRows::drop(RowMark mark) { static_cast<Mark*>(mark)->users.fetch_sub(1, std::memory_order_release); }

void CudaRows::bring(Rank& rank, double* to, const double* from, i64 count, RowMark mark) {
  copy(rank, to, from, count, mark, mark);
  wait(rank, mark, [] { return std::string("rows to be copied between a device and the host"); });
}

void CudaRows::load(Rank& rank, const RowsOf& rows, double* to) {
  double *box = place(rank).box, *from = address(rank, rows);
  RowMark loaded = mark(rank, 1);
  for (i64 first = 0, count; first < rows.count; first += count) {
    count = std::min<i64>(box_words, rows.count - first);
    bring(rank, box, from + first, count, loaded);
    std::memcpy(to + first, box, std::size_t(count) * sizeof(double));
  }
  drop(loaded);
}

void CudaRows::store(Rank& rank, const RowsOf& rows, const double* from, RowMark ready) {
  double *box = place(rank).box, *to = address(rank, rows);
  for (i64 first = 0, count; first < rows.count; first += count) {
    count = std::min<i64>(box_words, rows.count - first);
    std::memcpy(box, from + first, std::size_t(count) * sizeof(double));
    bring(rank, to + first, box, count, ready);
  }
}

RowPort& CudaEngine::row_port() { return *state_->rows; }

}  // namespace sordino::cuda
