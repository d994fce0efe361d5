// Rows between ranks of the cuda engine, outside of recordings: from GPU to GPU where these reach each other and belong to one
// process, on a stream that replays do not use; else through pinned memory of a fixed size.
#pragma once
#include <deque>

#include "sordino/runtime/cuda/state.hpp"
#include "sordino/runtime/row_port.hpp"

namespace sordino::cuda {

class CudaRows final : public RowPort {
 public:
  explicit CudaRows(State& state);  // when all ranks are set up
  ~CudaRows() override;             // waits for the copies that are under way; before memory is freed

  bool reaches(int rank, int other) const override;
  Carrier carrier(int from, int to) const override;
  double* address(Rank& rank, const RowsOf& rows) override;
  RowMark mark(Rank& rank, int users) override;
  void copy(Rank& at, double* to, const double* from, i64 count, RowMark ready, RowMark complete) override;
  bool is_passed(RowMark mark) override;
  void wait(Rank& rank, RowMark mark, const std::function<std::string()>& what) override;
  void drop(RowMark mark) override;
  void load(Rank& rank, const RowsOf& rows, double* to) override;
  void store(Rank& rank, const RowsOf& rows, const double* from, RowMark ready) override;

 private:
  struct Mark {
    cudaEvent_t event = nullptr;
    std::atomic<int> users{0};
  };
  struct Place {             // of one rank
    std::deque<Mark> marks;  // that grow by its own thread only, and never move
    double* box = nullptr;   // pinned; null: all ranks are reached
  };
  Place& place(const Rank& rank) { return places_[std::size_t(rank.id() - state_.hall->first_rank())]; }
  /// Between the box and the device: as copy(), and waits for its end.
  void bring(Rank& rank, double* to, const double* from, i64 count, RowMark mark);

  State& state_;
  std::vector<Place> places_;  // [local rank]
};

}  // namespace sordino::cuda
