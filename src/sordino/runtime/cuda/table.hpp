// Kernels by functor and exit test. Recordings know functors only by type; this table knows their kernels.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <vector>

#include "sordino/runtime/cuda/wire.hpp"

namespace sordino::cuda {

/// How handles become addresses, for one turn of a rotation.
struct Binding {
  std::function<double*(int logical)> vector;
  std::function<std::pair<const Segment*, i32>(int logical)> segments;  // where a functor sends words of it: none, or all
  std::function<i32(int logical)> get;  // physical scalar, or the code of one that this command finishes
  std::function<i32(int logical)> put;
};

/// A functor and an exit test, bound to memory.
class Launchable {
 public:
  virtual ~Launchable() = default;
  /// `chained`: may begin while the launch before it in the stream still runs. `collect`, if there is something to collect: by
  /// a block beside these, of a kernel that can (Entry).
  virtual void launch(const Args& args, int blocks, cudaStream_t stream, bool chained, const CollectArgs* collect) const = 0;
  /// Writes what a kernel that stays reads instead (resident.cuh): a step, of at most ResidentEntry::step_bytes.
  virtual void write_step(void* to, const StepHead& head) const = 0;
};

struct Entry {
  /// `test` is null for NoTest.
  std::unique_ptr<Launchable> (*bind)(const void* functor, const void* test, const Binding& binding) = nullptr;
  /// Blocks that fit on a multiprocessor of the current device; loads the kernel there.
  int (*blocks_per_multiprocessor)() = nullptr;
  /// The same of a kernel which has a block that collects, too; null: there is none.
  int (*collecting_blocks_per_multiprocessor)() = nullptr;
  int threads_a_row = 1;  // that share a row, or as many rows as they are
};

/// A kernel that stays, and runs commands of these kinds one after the other.
struct ResidentEntry {
  using Kind = std::pair<std::type_index, std::type_index>;  // functor and exit test
  std::vector<Kind> kinds;
  std::size_t step_bytes = 0;
  void (*launch)(const ResidentArgs& args, int blocks, cudaStream_t stream) = nullptr;
  /// Blocks that fit on a multiprocessor of the current device; loads the kernel there.
  int (*blocks_per_multiprocessor)() = nullptr;
  /// -1 if it has no such commands.
  i32 kind(const std::type_info& functor, const std::type_info& test) const;
};

/// Null if no kernel was enabled that runs all of `kinds`; else the one with the fewest others.
const ResidentEntry* find_resident(const std::vector<ResidentEntry::Kind>& kinds);
void add_resident(const ResidentEntry& entry);

/// Null if the pair was never enabled with this order.
const Entry* find_kernel(const std::type_info& functor, const std::type_info& test, SumOrder order = SumOrder::grid);

/// A tuned kernel takes the place of the generic one.
void set_kernel(const std::type_info& functor, const std::type_info& test, SumOrder order, const Entry& entry);

}  // namespace sordino::cuda
