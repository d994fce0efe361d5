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

/// In memory of the host's, and at an odd address in device memory, commands cannot compute: they do so on copies.
void copied(Rank& s, int space, const Exchange& next, Vec b) {
  std::vector<double> host(rows, 1.0), ones(rows, 1.0), sums(rows);
  OnGpu odd(rows + 2);
  Vec h = s.wrap("h", space, host.data()), m = s.wrap("m", space, odd.words + 1, &next);
  s.write(m, ones.data());
  auto there = s.record([&] {
    s.run(Twice{h});
    s.run(Twice{m}, push(m));
    s.run(Sum{m, b});
  });
  for (int k = 1; k <= 3; k++) {
    NOTE("replay ", k);
    const double value = double(1 << k);
    s.replay(there);
    auto device = odd.read(rows + 1);
    s.read(b, sums.data());
    for (std::size_t i = 0; i < rows; i++) {
      REQUIRE(host[i] == value);
      REQUIRE(device[i + 1] == value);
      REQUIRE(sums[i] == 11 * value);
    }
    CHECK(s.ledger.copied_bytes == k * 4 * i64(rows) * 8);  // two vectors, to and fro
    s.read(m, sums.data());
    CHECK(sums[rows - 1] == value);
  }
}

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
        CHECK(s.ledger.copied_bytes == 0);
        copied(s, space, next, b);
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
