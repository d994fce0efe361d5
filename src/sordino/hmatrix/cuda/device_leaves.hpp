// A GPU that computes leaves: its memory, its streams and the way of values to the host. What an entry is, a kernel's own file
// knows (leaf_kernels.cuh).
#pragma once
#include "sordino/hmatrix/cuda/device_memory.hpp"
#include "sordino/hmatrix/leaf_device.hpp"

namespace sordino::hmatrix {

/// What the kernels tell while they run: rows and columns of leaves that are done; and leaves, whatever came of them.
struct LeafWatch {
  unsigned long long done, beats;
};

/// What the kernels are told of a batch. Everything lies on the device.
template <class V>
struct LeafLaunch {
  const LeafTask* tasks;
  i64 first, end;
  CompressionOptions options;
  V* space;
  LeafResult* results;
  LeafWatch* watch;
  const volatile int* stop;  // not 0: no other leaf is to be begun
};

template <class V>
class DeviceLeaves : public LeafDevice<V> {
 public:
  /// A quarter of the memory that the device has free is for workspaces, 16 GiB at most, and what two batches store for values
  /// on their way to the host; 48 MiB of the host are pinned, and 64 B for each leaf of a batch. Leaves of many rows and
  /// columns are computed beside the small ones, which fill the processors that the last large ones leave idle. A wait throws
  /// `device` when no leaf has ended for a minute.
  explicit DeviceLeaves(int device);
  ~DeviceLeaves() override;
  i64 capacity() const final { return capacity_; }
  void start(std::span<const LeafTask> tasks, const CompressionOptions& options) final;
  std::vector<LeafResult> finish(const Meanwhile& meanwhile) final;
  void pack(std::span<const i64> places, i64 values) final;
  void fetch(V* to, const Meanwhile& meanwhile, int threads) final;
  bool stop() final;

 protected:
  /// Starts the kernel that computes these leaves: by many threads each, or by few.
  virtual void compute(const LeafLaunch<V>& launch, bool by_many, cudaStream_t stream) = 0;

 private:
  static constexpr int buffers = 24;                                // of pieces on their way to the host,
  static constexpr i64 of_piece = (i64(2) << 20) / i64(sizeof(V));  //   and the values of each
  struct Batch {
    DeviceArrayOf<V> values;
    i64 count = 0;
  };
  /// False: `meanwhile` has ended it.
  bool wait(cudaEvent_t event, const Meanwhile& meanwhile);
  void look();

  int device_;
  i64 capacity_ = 0;
  cudaStream_t computing_ = nullptr, computing_small_ = nullptr, copying_ = nullptr, watching_ = nullptr;
  cudaEvent_t given_ = nullptr, computed_small_ = nullptr, computed_ = nullptr, packed_ = nullptr, copied_[buffers] = {};
  DeviceArrayOf<V> space_;
  Message<LeafTask> tasks_;
  Message<LeafResult> results_;
  Message<i64> places_;
  Message<LeafWatch> watch_;
  double looked_ = 0;  // s
  Message<int> stop_;
  i64 count_ = 0;  // tasks of the batch that is computed
  Batch batches_[2];
  int current_ = 0;  // of them: the one that is packed
  PinnedArrayOf<V> staged_;
};

/// Copies leaves from their workspaces to their places among `to`.
template <class V>
void start_packing(const LeafTask* tasks, const LeafResult* results, const i64* places, i64 count, const V* space, V* to,
                   cudaStream_t stream);

}  // namespace sordino::hmatrix
