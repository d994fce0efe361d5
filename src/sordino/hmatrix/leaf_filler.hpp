// Computes leaves of an H-matrix, on threads of this process or on GPUs.
#pragma once
#include <memory>

#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/hmatrix/leaf_device.hpp"

namespace sordino::hmatrix {

/// What is known of a leaf beside its values.
struct Filled {
  double norm_squared = 0;
  int redone = 0;
};

/// What a GPU's thread has waited, the mean of GPUs.
struct DeviceSeconds {
  double waiting = 0;   // for batches to be computed,
  double fetching = 0;  //   and for their values to come
};

/// A leaf's bits depend on the generator, the options and its number alone: not on which others are computed, nor where.
template <class V>
class LeafFiller {
 public:
  /// Of these leaves, whose values go to stores, of which there will be as many as GPUs and threads; [leaves] filled. All must
  /// outlive it. Throws `unsupported` for GPUs that are not there and a generator without code for them.
  LeafFiller(const GeneratorOf<V>& generator, const BuildOptions& options, std::span<const i32> order,
             std::span<LeafOf<V>> leaves, std::vector<ValueStore<V>>& stores, std::span<Filled> filled);
  LeafFiller(const LeafFiller&) = delete;
  ~LeafFiller();
  /// Those of these numbers, which increase. Throws bad_argument for entries that are not finite, `device` for a GPU that
  /// fails, and what `progress` throws.
  void fill(std::span<const i64> numbers, const BuildProgress& progress);
  /// Those of these leaves of low rank that are here once more, from all their entries, on threads.
  void redo(std::span<const i64> numbers);
  /// Gives GPUs' memory back: nothing is filled any more. Takes its time, in which leaves may be done again.
  void release();
  /// Of all that was filled so far.
  const DeviceSeconds& device_seconds() const { return device_seconds_; }

 private:
  class Teller;
  template <class Work>
  void each_device(const Work& work);
  void fill_on_threads(std::span<const i64> numbers, i64 done_before, Teller& teller);
  Filled fill_one(LeafOf<V>& leaf, i64 number, ValueStore<V>& store) const;
  Filled fill_dense(LeafOf<V>& leaf, ValueStore<V>& store) const;
  Filled approximate(LeafOf<V>& leaf, i64 number, const CompressionOptions& options, ValueStore<V>& store) const;
  Section<V> section_of(const Block& block) const;
  i64 weight(std::span<const i64> numbers) const;

  const GeneratorOf<V>& generator_;
  const BuildOptions& options_;
  const std::span<const i32> order_;
  const std::span<LeafOf<V>> leaves_;
  std::vector<ValueStore<V>>& stores_;
  const std::span<Filled> filled_;
  std::vector<std::shared_ptr<LeafDevice<V>>> devices_;
  DeviceSeconds device_seconds_;
};

}  // namespace sordino::hmatrix
