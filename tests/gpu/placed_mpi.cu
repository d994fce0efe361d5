// Rows that go over MPI from GPU to GPU. Few MPIs take memory of GPUs: here a transport does, which says so, and stages on its
// own what is to be sent from there. All else is as it would be: outboxes on the GPU, headers, flags behind the rows.
#include <atomic>
#include <list>
#include <memory>

#include "conformance/mpi_world.hpp"
#include "conformance/problems.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/runtime/cuda/engine.hpp"
#include "support.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

/// For one rank a process, each on the device of its process's number.
class AwareTransport final : public Transport {
 public:
  explicit AwareTransport(std::atomic<int>& placed) : inner_(mpi::transport(MPI_COMM_WORLD, 1)), placed_(placed) {
    cuda::OnDevice on(process());
    cuda::call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~AwareTransport() override {
    inner_.reset();
    cudaStreamDestroy(stream_);
  }

  const char* name() const override { return inner_->name(); }
  int processes() const override { return inner_->processes(); }
  int process() const override { return inner_->process(); }
  const std::vector<int>& ranks_of_processes() const override { return inner_->ranks_of_processes(); }
  void send(int to, const Message& header, const void* data, std::size_t bytes) override {
    inner_->send(to, header, data, bytes);
  }
  int poll(const Deliver& deliver) override { return inner_->poll(deliver); }
  bool all_sent() override { return inner_->all_sent(); }
  bool reduces() const override { return inner_->reduces(); }
  std::unique_ptr<LibraryReduction> start_all_reduce(Fold fold, Scalar type, std::vector<std::byte> values) override {
    return inner_->start_all_reduce(fold, type, std::move(values));
  }

  bool reaches_devices() const override { return true; }
  void send_placed(int to, const void* data, std::size_t bytes) override {
    auto& staged = sent_.emplace_back(bytes);
    copy(staged.data(), data, bytes, data);
    inner_->send_placed(to, staged.data(), bytes);
    placed_++;
  }
  void receive_placed(int from, void* to, std::size_t bytes, std::function<void()> arrived) override {
    auto staged = std::make_shared<std::vector<std::byte>>(bytes);
    inner_->receive_placed(from, staged->data(), bytes, [this, staged, to, arrived] {
      copy(to, staged->data(), staged->size(), to);
      arrived();
    });
  }

 private:
  /// `given` is the one of the two that the courier named.
  void copy(void* to, const void* from, std::size_t bytes, const void* given) {
    cuda::OnDevice on(process());
    cudaPointerAttributes at{};
    cuda::call("cudaPointerGetAttributes", cudaPointerGetAttributes(&at, given));
    if (at.type != cudaMemoryTypeDevice || at.device != process())
      throw Error(Errc::device, "rows that go from GPU to GPU are not on this rank's");
    cuda::call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
    cuda::call("cudaStreamSynchronize", cudaStreamSynchronize(stream_));
  }

  std::unique_ptr<Transport> inner_;
  std::atomic<int>& placed_;
  cudaStream_t stream_ = nullptr;
  std::list<std::vector<std::byte>> sent_;
};

void need_gpus() {
  if (test::gpus() < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", test::gpus());
}

/// Every process counts as being on a host of its own.
std::unique_ptr<Hall> apart() { return mpi::hall(MPI_COMM_WORLD, 1, process()); }

}  // namespace

TEST("messages, collectives and sums go over MPI from GPU to GPU, where it takes their memory") {
  need_gpus();
  cuda::enable(traffic::Kernels{});
  for (cuda::Staging staging : {cuda::Staging::automatic, cuda::Staging::always}) {
    std::atomic<int> placed = 0;
    cuda::Options o;
    o.timeout = 20;
    o.staging = staging;
    {
      cuda::CudaEngine engine(o, apart(), std::make_unique<AwareTransport>(placed));
      CHECK(engine.carrier(process(), (process() + 1) % processes()) == Carrier::mpi);
      traffic::ring(engine);
      traffic::collectives(engine);
      traffic::sums(engine);
    }
    CHECK((placed > 0) == (staging == cuda::Staging::automatic));
  }
}

TEST("solvers have the same bits over MPI from GPU to GPU as staged") {
  need_gpus();
  CsrMatrix A = poisson(19, 17, 23, 7, 100.0);
  std::vector<double> b(std::size_t(A.n), 1.0);
  for (const char* method : {"cg", "gatherbicgstab"}) {
    NOTE(method);
    auto solved = [&](const char* transport, std::atomic<int>& placed) {
      Options o = problems::options(method, "cuda", 1);
      o.transport = transport;
      Solver solver(A.view(), o, cuda::make_engine(o, {}, apart(), std::make_unique<AwareTransport>(placed)));
      return problems::solve(solver, b);
    };
    std::atomic<int> placed = 0, none = 0;
    auto ours = solved("mpi", placed), staged = solved("mpi-staged", none);
    CHECK(placed > 0);
    CHECK(none == 0);
    CHECK(ours.report.status == Status::converged);
    CHECK(problems::same_bits(ours.report.history, staged.report.history));
    CHECK(problems::same_bits(ours.x, staged.x));
    CHECK(ours.report.ledger.same_counts(staged.report.ledger));
  }
}
