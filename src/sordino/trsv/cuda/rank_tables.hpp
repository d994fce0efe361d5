// A rank's part of a factor and of plans, on its GPU.
#pragma once
#include <memory>

#include "sordino/runtime/cuda/call.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/cuda/solve_kernel.hpp"

namespace sordino::trsv {

/// Memory of the current device.
template <class T>
class OnGpu {
 public:
  OnGpu() = default;
  explicit OnGpu(i64 count) : count_(count) {
    void* p = nullptr;
    const cudaError_t e = cudaMalloc(&p, std::size_t(bytes()) + 16);
    if (e == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(Errc::unsupported, "a GPU has too little memory for its part of a triangular factor: " +
                                         std::to_string(bytes()) + " bytes more are needed");
    }
    cuda::call("cudaMalloc", e);
    data_.reset(static_cast<T*>(p));
  }
  explicit OnGpu(const std::vector<T>& from) : OnGpu(i64(from.size())) { put(from.data(), 0, count_); }
  void put(const T* from, i64 first, i64 count) {
    if (count == 0) return;
    cuda::call("cudaMemcpyAsync",
               cudaMemcpyAsync(data() + first, from, std::size_t(count) * sizeof(T), cudaMemcpyHostToDevice, nullptr));
    cuda::call("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
  }
  T* data() const { return data_.get(); }
  i64 count() const { return count_; }
  i64 bytes() const { return count_ * i64(sizeof(T)); }

 private:
  struct Free {
    void operator()(T* p) const { cudaFree(p); }
  };
  i64 count_ = 0;
  std::unique_ptr<T, Free> data_;
};

/// Of one plan.
struct QueueOnGpu {
  OnGpu<QueuedTask> tasks;
  OnGpu<i32> needs, programs;
  OnGpu<u32> counters;  // tickets, blocks that have ended
  i32 count = 0;
  SolveShape shape;
};

template <class V>
class RankTables {
 public:
  /// Of rank `rank`, on the current device. Values are not there yet.
  RankTables(const Blocks& blocks, const std::vector<i32>& owner, int rank);
  /// Throws bad_argument for a task with more small blocks than a kernel knows.
  void add(const Blocks& blocks, const Plan& plan);
  /// Of long tasks, for wide passes.
  void add_wide(const Blocks& blocks, const Plan& plan);
  void fill(const Factor<V>& factor);
  void invent(const Blocks& blocks);

  SolveTables<V> tables(const QueueOnGpu& queue) const;
  const QueueOnGpu& queue(Direction direction) const { return queues_[std::size_t(direction)]; }
  const QueueOnGpu& wide_queue() const { return wide_; }
  i64 partials() const { return partials_; }  // of own blocks, for each column of b
  i64 value_bytes() const { return values_.bytes(); }
  i64 table_bytes() const;

 private:
  // What is copied to the thread block that takes a task, and what room it needs there: forward, of a part, of columns, and of
  // subtrees in either direction.
  void set_strips(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const;
  void set_long_strips(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const;
  void set_part(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const;
  void set_columns(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const;
  void set_subtrees(const Blocks& blocks, const Task& t, bool forward, QueuedTask& q, std::vector<i32>& programs,
                    SolveShape& shape) const;
  void add(const Blocks& blocks, const Plan& plan, bool is_wide, QueueOnGpu& queue) const;
  i64 place_of_strip(const Blocks& blocks, const Task& t, i32 strip) const;
  i64 place_of_part(const Blocks& blocks, i32 block, i32 part) const;

  int rank_;
  std::vector<i32> own_;            // blocks
  std::vector<i64> first_value_;    // [blocks] place of an own block's among own values
  std::vector<i64> first_partial_;  // [blocks] and among own partial sums
  i64 partials_ = 0;
  OnGpu<V> values_;
  OnGpu<RowSources> row_sources_;
  OnGpu<i32> rows_, sources_, order_;
  QueueOnGpu queues_[2], wide_;
};

}  // namespace sordino::trsv
