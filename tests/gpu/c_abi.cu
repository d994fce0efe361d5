// The C ABI on GPUs: it solves there, and refuses to read their memory.
#include "sordino/api/sordino.h"
#include "sordino/linalg/poisson.hpp"
#include "support.hpp"

using namespace sordino;

namespace {

struct OnGpu {
  explicit OnGpu(std::size_t bytes) { cudaMalloc(&pointer, bytes); }
  ~OnGpu() { cudaFree(pointer); }
  void* pointer = nullptr;
};

}  // namespace

TEST("a C program solves on a GPU, and its pointers to memory of one are refused with a sentence") {
  test::need_gpu();
  CsrMatrix A = poisson(12, 11, 10, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  std::vector<i64> columns(A.indices.begin(), A.indices.end());
  sordino_rows rows{0, A.n, A.indptr.data(), columns.data(), A.values.data(), 64, 0};
  sordino_solver* solver = nullptr;
  REQUIRE(sordino_create(&rows, "engine=cuda ranks=1 rtol=1e-9", &solver) == SORDINO_OK);
  CHECK(std::string(sordino_engine(solver)) == "cuda");
  CHECK(sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_OK);

  OnGpu there(A.values.size() * sizeof(double));
  auto* numbers = static_cast<double*>(there.pointer);
  auto refused = [](int code, const char* what) {
    CHECK(code == SORDINO_BAD_INPUT);
    CHECK(std::string(sordino_message()) == std::string(what) + " points to memory of a GPU: copy it to the host first");
    CHECK(std::string(sordino_error()) == "unsupported");
  };
  refused(sordino_solve(solver, numbers, x.data(), nullptr), "the right-hand side");
  refused(sordino_solve(solver, b.data(), numbers, nullptr), "x");
  refused(sordino_solve(solver, b.data(), x.data(), numbers), "x0");
  refused(sordino_update_values(solver, numbers), "values");
  sordino_destroy(solver);
  rows.columns = there.pointer;
  refused(sordino_create(&rows, "engine=cuda ranks=1", &solver), "columns");
}
