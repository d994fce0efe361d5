// Vectors and matrices of callers that are in memory of GPUs: what a Solver makes of them, and when it reads them.
#include <cmath>
#include <limits>

#include "on_gpu.hpp"
#include "sordino/api/solver.hpp"
#include "sordino/linalg/poisson.hpp"
#include "unit/fresh.hpp"

using namespace sordino;
using test::OnGpu;

namespace {

__global__ void pass_time(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
unsigned drawn() {
  static fresh::Random random(31);
  return unsigned(random.whole(0, 1 << 30));
}

Options options(int ranks, const std::string& engine = "cuda") {
  Options o;
  o.engine = engine;
  o.ranks = ranks;
  o.rtol = 1e-10;
  o.timeout = 20;
  return o;
}

std::vector<int> ranks_here() { return test::gpus() > 2 ? std::vector<int>{1, 2, 3} : std::vector<int>{1, 2}; }

/// b, x and x0 of one solve on a GPU; the x that comes back.
std::vector<double> solve_there(Solver& solver, const std::vector<double>& b, const std::vector<double>* x0, int device = 0) {
  OnGpu<double> b_there(b, device), x_there(std::vector<double>(b.size(), not_a_number), device),
      x0_there(x0 ? *x0 : b, device);
  Report r = solver.solve(b_there.get(), x_there.get(), x0 ? x0_there.get() : nullptr);
  CHECK(r.status == Status::converged);
  CHECK(b_there.read() == b);
  return x_there.read();
}

std::vector<double> solve_here(Solver& solver, const std::vector<double>& b, const std::vector<double>* x0 = nullptr) {
  std::vector<double> x(b.size());
  CHECK(solver.solve(b.data(), x.data(), x0 ? x0->data() : nullptr).status == Status::converged);
  return x;
}

}  // namespace

void test::keep_busy(cudaStream_t stream, double seconds) {
  pass_time<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(seconds * 1e9));
  cuda::call("pass_time", cudaGetLastError());
}

TEST("vectors on a GPU give the bits of those on the host") {
  NOTE(fresh::said());
  test::need_gpu();
  unsigned seed = drawn();
  NOTE("seed = ", seed);
  for (CsrMatrix A : {poisson(5, 1, 1, 7, 1.0), poisson(13, 11, 7, 7, 10.0), poisson(61, 60, 59, 7, 1.0)})
    for (int ranks : ranks_here())
      for (const char* method : {"cg", "gatherbicgstab"}) {  // the one gathers x from all ranks, the other from one
        NOTE("n = ", A.n, ", ranks = ", ranks, ", method = ", method);
        Options o = options(ranks);
        o.solver = method;
        Solver solver(A.view(), o);
        auto b = test::random_vector(A.n, seed), x0 = test::random_vector(A.n, seed + 1);
        CHECK(solve_there(solver, b, nullptr) == solve_here(solver, b));
        CHECK(solve_there(solver, b, &x0) == solve_here(solver, b, &x0));
      }
}

TEST("each vector may be somewhere else, and x may be b") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(14, 9, 8, 7, 1.0);
  Solver solver(A.view(), options(2));
  auto b = test::random_vector(A.n, drawn()), x = solve_here(solver, b);
  std::vector<double> found(b.size());
  OnGpu<double> both(b);
  solver.solve(both.get(), found.data());
  CHECK(found == x);
  solver.solve(both.get(), both.get());
  CHECK(both.read() == x);
  solver.solve(b.data(), both.get(), x.data());
  CHECK(test::distance(both.read(), x) < 1e-8);
}

TEST("vectors on a GPU that has no rank travel to those that have") {
  NOTE(fresh::said());
  test::need_gpu();
  if (test::gpus() < 2) SKIP("two GPUs are needed, and here is ", test::gpus());
  CsrMatrix A = poisson(17, 16, 15, 7, 1.0);
  auto b = test::random_vector(A.n, drawn());
  for (const char* devices : {"0", "1"}) {
    Options o = options(1);
    o.devices = devices;
    Solver solver(A.view(), o);
    auto x = solve_here(solver, b);
    for (int device : {0, 1}) CHECK(solve_there(solver, b, &b, device) == solve_here(solver, b, &b));
    cuda::OnDevice on(1);  // memory of a pool, which other GPUs do not reach
    double* pooled = nullptr;
    cuda::call("cudaMallocAsync", cudaMallocAsync(&pooled, b.size() * 8, cudaStreamLegacy));
    cuda::call("cudaMemcpy", cudaMemcpy(pooled, b.data(), b.size() * 8, cudaMemcpyDefault));
    OnGpu<double> x_there(b, 0);
    solver.solve(pooled, x_there.get());
    CHECK(x_there.read() == x);
    cudaFreeAsync(pooled, cudaStreamLegacy);
  }
}

TEST("the thread's current device stays what it was") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(9, 8, 7, 7, 1.0);
  auto b = test::random_vector(A.n, drawn());
  for (int device = 0; device < test::gpus(); device++) {
    cuda::OnDevice on(device);
    {
      Solver solver(A.view(), options(std::max(2, test::gpus())));
      CHECK(test::current_device() == device);
      for (int where = 0; where < test::gpus(); where++) {
        solve_there(solver, b, &b, where);
        OnGpu<double> values(A.values, where);
        solver.update_values(values.get());
        auto spoiled = b;
        spoiled[3] = not_a_number;
        CHECK_THROWS(solve_there(solver, spoiled, nullptr, where), Error, "the right-hand side holds a NaN or Inf at row 3");
        CHECK(test::current_device() == device);
      }
    }
    CHECK(test::current_device() == device);
  }
}

// The vectors hold NaN, which would be refused, and x what must be overwritten, until the streams come to what is written
// there.
TEST("work of the caller's streams is waited for, before b is read and before x is written") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(15, 14, 13, 7, 1.0);
  auto b = test::random_vector(A.n, drawn());
  int device = test::gpus() - 1;
  cuda::OnDevice on(device);
  Solver solver(A.view(), options(2));
  auto x = solve_here(solver, b);
  test::SideStream side(device);
  cudaStream_t ordinary = nullptr;
  cuda::call("cudaStreamCreate", cudaStreamCreate(&ordinary));
  OnGpu<double> right(b, device);
  for (cudaStream_t stream : {side.get(), ordinary, cudaStreamLegacy, cudaStreamPerThread}) {
    bool named = stream == side.get();
    NOTE(named ? "a stream that is named" : "a stream that the legacy default stream waits for");
    solver.set_stream(named ? stream : nullptr);
    std::vector<double> none(b.size(), not_a_number);
    OnGpu<double> b_there(none, device), x_there(none, device);
    test::keep_busy(stream, 0.05);
    cuda::call("cudaMemcpyAsync", cudaMemcpyAsync(b_there.get(), right.get(), right.bytes(), cudaMemcpyDeviceToDevice, stream));
    solver.solve(b_there.get(), x_there.get());
    CHECK(x_there.read() == x);
    test::keep_busy(stream, 0.05);
    cuda::call("cudaMemsetAsync", cudaMemsetAsync(x_there.get(), 0, x_there.bytes(), stream));
    solver.solve(b.data(), x_there.get());
    CHECK(x_there.read() == x);
  }
  cudaStreamDestroy(ordinary);
}

TEST("a NaN or Inf on a GPU is found wherever it stands, the first one is named, and the solver goes on") {
  NOTE(fresh::said());
  test::need_gpu();
  for (CsrMatrix A : {poisson(11, 1, 1, 7, 1.0), poisson(60, 59, 61, 7, 1.0)}) {  // less than a warp; more than all threads
    Solver solver(A.view(), options(1));
    auto b = test::random_vector(A.n, drawn());
    auto x = solve_here(solver, b);
    std::mt19937_64 generator(drawn());
    std::vector<i64> rows{0, A.n / 2, A.n - 1, i64(generator() % u64(A.n))};
    for (i64 row : rows) {
      NOTE("n = ", A.n, ", row = ", row);
      auto spoiled = b;
      spoiled[std::size_t(row)] = row % 2 ? not_a_number : -INFINITY;
      spoiled.back() = not_a_number;
      OnGpu<double> there(spoiled), out(b), good(b);
      std::string at = "holds a NaN or Inf at row " + std::to_string(row);
      CHECK_THROWS(solver.solve(there.get(), out.get()), Error, "the right-hand side " + at);
      CHECK_THROWS(solver.solve(good.get(), out.get(), there.get()), Error, "x0 " + at);
      CHECK(out.read() == b);
    }
    CHECK(solve_there(solver, b, nullptr) == x);
  }
}

TEST("what is far from 1, and ranks that are not on GPUs, are reached by way of the host") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(8, 9, 10, 7, 1.0);
  auto b = test::random_vector(A.n, drawn());
  for (const char* engine : {"cuda", "host"}) {
    Solver solver(A.view(), options(2, engine));
    for (double scale : {1.0, 1e-200, 1e200}) {
      NOTE(engine, ", scale = ", scale);
      auto scaled = b;
      for (double& value : scaled) value *= scale;
      CHECK(solve_there(solver, scaled, nullptr) == solve_here(solver, scaled));
      CHECK(solve_there(solver, scaled, &scaled) == solve_here(solver, scaled, &scaled));
    }
    std::vector<double> zero(b.size(), 0.0);
    CHECK(solve_there(solver, zero, &b) == zero);
  }
}

TEST("a callback hears the same of b on a GPU") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(48, 48, 48, 7, 1.0);
  Solver solver(A.view(), options(1));
  OnGpu<double> b(test::random_vector(A.n, drawn())), x(std::vector<double>(std::size_t(A.n)));
  double last = 0;
  Report r = solver.solve(b.get(), x.get(), nullptr, [&](int, double residual) { return last = residual, false; });
  CHECK(r.status == Status::converged);
  CHECK(std::isfinite(last));  // it may not have been called at all
}

TEST("a matrix on a GPU, and new values for it; refused ones change nothing") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(12, 10, 9, 7, 1.0);
  auto b = test::random_vector(A.n, drawn());
  for (const char* engine : {"cuda", "host"}) {
    NOTE(engine);
    Solver here(A.view(), options(2, engine));
    auto made = [&] {  // the arrays go when it has been set up
      OnGpu<i64> indptr(A.indptr);
      OnGpu<i32> indices(A.indices);
      OnGpu<double> values(A.values, test::gpus() - 1);
      return Solver(CsrView{A.n, indptr.get(), indices.get(), values.get()}, options(2, engine));
    };
    Solver there = made();
    CHECK(solve_there(there, b, nullptr) == solve_here(here, b));
    for (double factor : {2.0, 3.0, 5.0}) {
      auto values = A.values;
      for (double& value : values) value *= factor;
      here.update_values(values.data());
      there.update_values(OnGpu<double>(values).get());
      auto x = solve_here(here, b);
      CHECK(solve_there(there, b, nullptr) == x);
      auto spoiled = values;
      spoiled[7] = not_a_number;
      CHECK_THROWS(there.update_values(OnGpu<double>(spoiled).get()), Error, "NaN");
      CHECK(solve_there(there, b, nullptr) == x);
      here.update_values(A.values.data());  // before the values go
    }
  }
}

TEST("managed memory is refused with a sentence") {
  test::need_gpu();
  CsrMatrix A = poisson(5, 5, 5, 7, 1.0);
  Solver solver(A.view(), options(1));
  std::vector<double> x(std::size_t(A.n), 1.0);
  double* managed = nullptr;
  cuda::call("cudaMallocManaged", cudaMallocManaged(&managed, x.size() * sizeof(double)));
  CHECK_THROWS(solver.solve(managed, x.data()), Error, "the right-hand side points to managed memory");
  CHECK_THROWS(solver.solve(x.data(), managed), Error, "x points to managed memory");
  CHECK_THROWS(solver.update_values(managed), Error, "values points to managed memory");
  cudaFree(managed);
  double* pinned = nullptr;  // is memory of the host
  cuda::call("cudaMallocHost", cudaMallocHost(&pinned, x.size() * sizeof(double)));
  CHECK(solver.solve(x.data(), pinned).status == Status::converged);
  cudaFreeHost(pinned);
}
