// Commands that launch kernels of the caller's: a __global__ function, cuFFT, cuBLAS, whatever takes a stream.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sordino/runtime/host_task.hpp"

struct CUstream_st;  // a cudaStream_t points to one; this header knows no CUDA

namespace sordino {

struct DeviceTask;

/// What a device task sees while it launches. Addresses are of the rank's GPU; all three that ask for one throw bad_argument
/// for what the task does not say it uses.
class DeviceView {
 public:
  using Table = std::function<double*(int logical)>;
  DeviceView(const DeviceTask& task, CUstream_st* stream, Table vectors, Table scalars)
      : task_(task), stream_(stream), vectors_(std::move(vectors)), scalars_(std::move(scalars)) {}

  /// The cudaStream_t that everything is to be launched into. It is being captured.
  CUstream_st* stream() const { return stream_; }
  /// Words of a vector that the task uses: its own rows, and behind them the ghosts.
  double* words(Vec v) const;
  /// Where a scalar lies that the task gets, or puts.
  const double* get(Scal s) const;
  double* put(Scal s) const;

 private:
  const DeviceTask& task_;
  CUstream_st* stream_;
  Table vectors_, scalars_;
};

/// A command that is what a function of the caller's launches. All it touches is declared, as the fields of a functor declare
/// it: what it reads with ghosts is awaited before it, what an epilogue pushes is sent behind it, and it runs on the device in
/// the order of its queue. It is no part of a kernel that stays, and starts no reduction: a functor behind it does.
///
/// `on_device` is called when the recording is compiled, and whenever it is captured into a graph, for every place in which its
/// vectors are after a rotation: not each iteration, and never by the clock of the loop. What it launches is replayed as it was
/// captured, so it must depend on nothing that changes meanwhile but the contents of vectors and scalars. It must not
/// synchronize, allocate, wait for another rank, or use another stream that does not fork from view.stream() and join it again:
/// such calls fail, and the error names the task. Kernels, memsets, and copies within the device or from pinned memory can be
/// captured; libraries have their plans, handles and workspaces made before.
///
/// Once a loop has ended its task does nothing more, whatever was launched ahead: it costs a kernel of one thread, and a
/// conditional node of the graph.
struct DeviceTask {
  std::string name = "device task";
  std::vector<HostTask::Use> uses = {};
  std::vector<Get> gets = {};  // Get(finish(s)) ends the reduction into s first
  std::vector<Scal> puts = {};
  std::function<void(const DeviceView&)> on_device = {};  // engine cuda
  /// The same on engines host and model: called once an iteration. A recording with a task that has none runs on GPUs only, and
  /// on the model without arithmetic.
  std::function<void(const HostView&)> on_host = {};
  /// Of memory traffic on this rank; unsaid, 8 bytes for every own row of what it uses, 16 where it updates. The model takes
  /// its time from bytes and flops, and the ledger counts them.
  std::optional<double> bytes = {};
  double flops = 0;
};

/// Its rows are one, which is all it does. On a GPU nobody calls it: engine cuda knows it by its type().
class DeviceBody final : public Body {
 public:
  explicit DeviceBody(DeviceTask task);

  std::unique_ptr<Body> bind(const VectorTable& vectors) const override;  // throws Errc::unsupported without on_host
  void head(const ScalarView& scalars) override { scalars_ = scalars; }
  void rows(i32, i32, double*) override { host_->host(scalars_); }
  const std::type_info& type() const override { return typeid(DeviceTask); }
  const void* functor() const override { return task_.get(); }

 private:
  std::shared_ptr<const DeviceTask> task_;
  std::shared_ptr<Body> host_;  // on_host, as a host task
  ScalarView scalars_{};
};

}  // namespace sordino
