// Memory and streams of the caller's on GPUs.
#include "sordino/comm/traffic.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "support.hpp"

using namespace sordino;

namespace {

constexpr i32 rows = 1000;

struct Sum {
  Ghost x;
  Out y;
  SORDINO_HD void row(i32 i) { y[i] = 10 * x[i] + x[rows]; }
};
struct Twice {
  InOut x;
  SORDINO_HD void row(i32 i) { x[i] *= 2; }
};
using WrappedKernels = KernelList<Kernel<Sum>, Kernel<Twice>>;

/// Writes late, so that who does not wait for it sees what was there before.
__global__ void fill_late(double* x, double first) {
  for (int n = 0; n < 20000; n++) __nanosleep(1000);
  for (int i = threadIdx.x; i < rows; i += blockDim.x) x[i] = first + i;
}

struct OnGpu {
  explicit OnGpu(std::size_t count) { cuda::call("cudaMalloc", cudaMalloc(reinterpret_cast<void**>(&words), count * 8)); }
  ~OnGpu() { cudaFree(words); }
  std::vector<double> read(std::size_t count) const {
    std::vector<double> all(count);
    cuda::call("cudaMemcpy", cudaMemcpy(all.data(), words, count * 8, cudaMemcpyDeviceToHost));
    return all;
  }
  double* words = nullptr;
};

void run(cuda::CudaEngine& engine) {
  cuda::enable(WrappedKernels{});
  const int n = engine.size();
  engine.run(
      [&](Rank& s) {
        OnGpu x(rows + 1), y(rows);
        cudaStream_t callers = nullptr;
        cuda::call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&callers, cudaStreamNonBlocking));
        Exchange next = point_to_point(s, rows, {{(s.id() + n - 1) % n, {0}}}, {{(s.id() + 1) % n, 1}});
        int space = s.add_space(equal_parts(rows, s.id(), n));
        i64 before = engine.bytes_held(s.id());
        Vec b = s.wrap("b", space, y.words), a = s.wrap("a", space, x.words, &next);
        CHECK(engine.bytes_held(s.id()) - before < rows * 8);
        auto there = s.record([&] {
          s.run(Twice{a}, push(a));
          s.run(Sum{a, b});
        });
        for (int k = 0; k < 3; k++) {
          fill_late<<<1, 256, 0, callers>>>(x.words, 100.0 * s.id() + k);
          engine.follow(s, callers);
          s.replay(there);
          auto doubled = x.read(rows), sums = y.read(rows);
          for (i32 i = 0; i < rows; i++) {
            REQUIRE(doubled[std::size_t(i)] == 2 * (100.0 * s.id() + k + i));
            REQUIRE(sums[std::size_t(i)] == 20 * (100.0 * s.id() + k + i) + 2 * (100.0 * ((s.id() + 1) % n) + k));
          }
        }
        std::vector<double> host(rows);
        CHECK_THROWS(s.wrap("h", space, host.data()), Error, "the caller's memory is not on device");
        cudaStreamDestroy(callers);
      },
      {});
}

}  // namespace

TEST("wrapped: memory of the caller's is computed in, sent from and received into, behind his stream") {
  test::need_gpu();
  for (int ranks : {2, 3, 4}) {
    NOTE(ranks, " ranks");
    for (auto links : {cuda::Links::automatic, cuda::Links::host}) {
      cuda::Options o;
      o.links = links;
      run(*test::cuda_engine(ranks, o));
    }
  }
}
