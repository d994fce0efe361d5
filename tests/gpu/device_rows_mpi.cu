// Rows of MPI processes whose arrays are in memory of GPUs, through the C ABI.
#include <cmath>

#include "conformance/mpi_world.hpp"
#include "on_gpu.hpp"
#include "sordino/api/sordino.h"  // after mpi.h
#include "sordino/linalg/poisson.hpp"

using namespace sordino;
using namespace mpi_world;
using test::OnGpu;

namespace {

/// A grid's rows of this process, columns in 32 bits.
struct Mine {
  i64 first, end;
  std::vector<std::int32_t> starts, columns;
  std::vector<double> values;

  explicit Mine(const CsrMatrix& A)
      : first(A.n * process() / processes() + (process() > 0 ? 5 : 0)),
        end(process() + 1 < processes() ? A.n * (process() + 1) / processes() + 5 : A.n) {
    i64 from = A.indptr[std::size_t(first)], to = A.indptr[std::size_t(end)];
    for (i64 i = first; i <= end; i++) starts.push_back(std::int32_t(A.indptr[std::size_t(i)] - from));
    columns.assign(A.indices.begin() + from, A.indices.begin() + to);
    values.assign(A.values.begin() + from, A.values.begin() + to);
  }
  std::vector<double> of(const std::vector<double>& v) const { return {v.begin() + first, v.begin() + end}; }
  sordino_rows rows(const void* s, const void* c, const double* v) const { return {first, end - first, s, c, v, 32, 0}; }
};

struct Handle {
  sordino_solver* solver = nullptr;
  explicit Handle(const sordino_rows& rows) {
    int code = sordino_create_mpi(MPI_COMM_WORLD, &rows, "engine=cuda solver=cg rtol=1e-9 timeout=20", &solver);
    NOTE(sordino_message());
    REQUIRE(code == SORDINO_OK);
  }
  ~Handle() { sordino_destroy(solver); }
};

}  // namespace

TEST("rows of processes on GPUs: matrix, vectors and values give the bits of those on the host") {
  if (test::gpus() < processes()) SKIP(processes(), " processes need as many GPUs, and here are ", test::gpus());
  CsrMatrix A = poisson(17, 16, 13, 7, 1.0);
  Mine mine(A);
  auto b = mine.of(test::random_vector(A.n, 77));
  std::vector<double> x(b.size());
  Handle here(mine.rows(mine.starts.data(), mine.columns.data(), mine.values.data()));
  REQUIRE(sordino_solve(here.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  for (int shift : {0, 1}) {  // on the process's own GPU, as a rule, and on another one
    int device = (process() + shift) % test::gpus();
    NOTE("device ", device);
    OnGpu<std::int32_t> starts(mine.starts, device), columns(mine.columns, device);
    OnGpu<double> values(mine.values, device), b_there(b, device), x_there(std::vector<double>(b.size(), NAN), device);
    Handle there(mine.rows(starts.get(), columns.get(), values.get()));
    CHECK(sordino_solve(there.solver, b_there.get(), x_there.get(), nullptr) == SORDINO_OK);
    CHECK(x_there.read() == x);
    CHECK(sordino_update_values(there.solver, values.get()) == SORDINO_OK);
    bool leads = process() == 0;  // some on the host, some on a GPU
    CHECK(sordino_solve(there.solver, leads ? b.data() : b_there.get(), x_there.get(), nullptr) == SORDINO_OK);
    CHECK(x_there.read() == x);

    auto spoiled = b;
    if (leads) spoiled[4] = NAN;
    OnGpu<double> bad(spoiled, device);
    CHECK(sordino_solve(there.solver, bad.get(), x_there.get(), nullptr) == SORDINO_BAD_INPUT);
    CHECK(std::string(sordino_message()).find("process 0: the right-hand side holds a NaN or Inf at row 4") == 0);
    CHECK(sordino_solve(there.solver, b_there.get(), x_there.get(), nullptr) == SORDINO_OK);
    CHECK(x_there.read() == x);
  }
}
