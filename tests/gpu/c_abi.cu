// The C ABI on GPUs: it solves there, for arrays of the host and of GPUs.
#include "on_gpu.hpp"
#include "sordino/api/sordino.h"
#include "sordino/linalg/poisson.hpp"
#include "unit/fresh.hpp"

using namespace sordino;
using test::OnGpu;

namespace {

/// The same matrix with its arrays on a GPU, columns counted from 1 in either width.
template <class I>
void check_matrix_on_gpu(const CsrMatrix& A, const std::vector<double>& b, const std::vector<double>& expected, int base) {
  std::vector<I> starts(A.indptr.begin(), A.indptr.end()), columns(A.indices.begin(), A.indices.end());
  for (auto* numbers : {&starts, &columns})
    for (I& number : *numbers) number += I(base);
  sordino_solver* solver = nullptr;
  {
    OnGpu<I> starts_there(starts), columns_there(columns);
    OnGpu<double> values_there(A.values, test::gpus() - 1);
    sordino_rows rows{base, A.n, starts_there.get(), columns_there.get(), values_there.get(), int(sizeof(I)) * 8, base};
    REQUIRE(sordino_create(&rows, "engine=cuda ranks=2 rtol=1e-9 timeout=20", &solver) == SORDINO_OK);
  }
  OnGpu<double> b_there(b), x_there(b);
  CHECK(sordino_solve(solver, b_there.get(), x_there.get(), nullptr) == SORDINO_OK);
  CHECK(x_there.read() == expected);
  sordino_destroy(solver);
}

}  // namespace

TEST("a C program solves on GPUs with a matrix and vectors of the host or of a GPU, to the same bits") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(12, 11, 10, 7, 1.0);
  std::vector<double> b = test::random_vector(A.n, unsigned(fresh::seed())), x(b.size());
  std::vector<i64> columns(A.indices.begin(), A.indices.end());
  sordino_rows rows{0, A.n, A.indptr.data(), columns.data(), A.values.data(), 64, 0};
  sordino_solver* solver = nullptr;
  REQUIRE(sordino_create(&rows, "engine=cuda ranks=2 rtol=1e-9 timeout=20", &solver) == SORDINO_OK);
  CHECK(std::string(sordino_engine(solver)) == "cuda");
  CHECK(sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  for (int base : {0, 1}) {
    check_matrix_on_gpu<std::int32_t>(A, b, x, base);
    check_matrix_on_gpu<std::int64_t>(A, b, x, base);
  }

  int before = test::current_device();
  auto doubled = A.values;
  for (double& value : doubled) value *= 2;
  CHECK(sordino_update_values(solver, OnGpu<double>(doubled).get()) == SORDINO_OK);
  OnGpu<double> b_there(b), half(b);
  CHECK(sordino_solve(solver, b_there.get(), half.get(), b_there.get()) == SORDINO_OK);
  auto twice = half.read();
  for (double& value : twice) value *= 2;
  CHECK(test::distance(twice, x) < 1e-7);
  CHECK(test::current_device() == before);
  sordino_destroy(solver);
}

TEST("a C program names its stream, and b is read behind it") {
  NOTE(fresh::said());
  test::need_gpu();
  CsrMatrix A = poisson(9, 11, 10, 7, 1.0);
  std::vector<double> b = test::random_vector(A.n, unsigned(fresh::seed())), x(b.size());
  sordino_rows rows{0, A.n, nullptr, A.indices.data(), A.values.data(), 32, 0};
  std::vector<std::int32_t> starts(A.indptr.begin(), A.indptr.end());
  rows.row_starts = starts.data();
  sordino_solver* solver = nullptr;
  REQUIRE(sordino_create(&rows, "engine=cuda ranks=1 rtol=1e-9", &solver) == SORDINO_OK);
  CHECK(sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  test::SideStream side;
  CHECK(sordino_set_stream(solver, side.get()) == SORDINO_OK);
  OnGpu<double> right(b), late(std::vector<double>(b.size(), NAN)), found(b);
  test::keep_busy(side.get(), 0.05);
  cuda::call("cudaMemcpyAsync", cudaMemcpyAsync(late.get(), right.get(), right.bytes(), cudaMemcpyDeviceToDevice, side.get()));
  CHECK(sordino_solve(solver, late.get(), found.get(), nullptr) == SORDINO_OK);
  CHECK(found.read() == x);
  sordino_destroy(solver);
}

TEST("what a C program cannot have on a GPU is refused with a sentence") {
  test::need_gpu();
  CsrMatrix A = poisson(4, 4, 4, 7, 1.0);
  sordino_rows rows{0, A.n, A.indptr.data(), nullptr, A.values.data(), 64, 0};
  OnGpu<sordino_rows> there({rows});
  sordino_solver* solver = nullptr;
  CHECK(sordino_create(there.get(), "", &solver) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "the matrix is to be in memory of the host");
  std::vector<i64> beyond(A.indices.begin(), A.indices.end());
  beyond[5] = A.n;
  OnGpu<i64> columns(beyond);
  rows.columns = columns.get();
  CHECK(sordino_create(&rows, "engine=cuda ranks=1", &solver) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()).find("out of range") != std::string::npos);
}

TEST("on GPUs, too, a time limit and a matrix that a method cannot take are said") {
  test::need_gpu();
  CsrMatrix A = poisson(40, 40, 40, 7, 1e8);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  auto said = [&](const char* options) {
    sordino_rows rows{0, A.n, A.indptr.data(), nullptr, A.values.data(), 64, 0};
    std::vector<i64> columns(A.indices.begin(), A.indices.end());
    rows.columns = columns.data();
    sordino_solver* solver = nullptr;
    REQUIRE(sordino_create(&rows, options, &solver) == SORDINO_OK);
    CHECK(sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
    std::string message = sordino_message();
    sordino_destroy(solver);
    return message;
  };
  std::string limited =
      said("engine=cuda ranks=2 timeout=20 solver=cg precond=none rtol=1e-250 maxiter=1000000 time_limit=0.02");
  CHECK(limited.starts_with("stopped on request: the time limit is reached; relative residual"));
  A.values[1] *= 1.5;
  CHECK(said("engine=cuda ranks=2 timeout=20 solver=cg maxiter=3 rtol=1e-12")
            .ends_with("; the matrix is not symmetric, which solver cg needs: use bicgstab"));
}
