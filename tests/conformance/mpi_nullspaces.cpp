// A singular matrix whose rows stay with their processes.
#include <cmath>

#include "check.hpp"
#include "mpi_world.hpp"
#include "problems.hpp"
#include "sordino/api/sordino.h"  // after mpi.h

using namespace problems;

namespace {

/// Each process's rows of A, in equal parts, and a solver of them.
struct Distributed {
  std::vector<int64_t> starts, columns;
  std::vector<double> values;
  i64 first, end;
  sordino_solver* solver = nullptr;
  int code;

  Distributed(const CsrMatrix& A, const char* options) {
    int process, processes;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    first = A.n * process / processes, end = A.n * (process + 1) / processes;
    i64 from = A.indptr[std::size_t(first)], to = A.indptr[std::size_t(end)];
    for (i64 i = first; i <= end; i++) starts.push_back(A.indptr[std::size_t(i)] - from);
    columns.assign(A.indices.begin() + from, A.indices.begin() + to);
    values.assign(A.values.begin() + from, A.values.begin() + to);
    sordino_rows rows{first, end - first, starts.data(), columns.data(), values.data(), 64, 0};
    code = sordino_create_mpi(MPI_COMM_WORLD, &rows, options, &solver);
  }
  ~Distributed() { sordino_destroy(solver); }
};

double sum_of_all(double mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return mine;
}

}  // namespace

TEST("rows of a singular matrix over processes: x without the constant, verified, and refused where it is no nullspace") {
  CsrMatrix A = neumann(poisson(8, 7, 6, 7, 1.0));
  const char* options = "engine=host timeout=30 rtol=1e-10 nullspace=constant";
  Distributed d(A, options);
  REQUIRE(d.code == SORDINO_OK);
  std::vector<double> b, x(std::size_t(d.end - d.first));
  for (i64 i = d.first; i < d.end; i++) b.push_back(1 + std::sin(double(i)));
  CHECK(sordino_solve(d.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  double sum = 0, squares = 0;
  for (double v : x) sum += v, squares += v * v;
  CHECK(std::abs(sum_of_all(sum)) < 1e-12 * std::sqrt(sum_of_all(squares)) * double(A.n));

  Distributed full(poisson(8, 7, 6, 7, 1.0), options);
  CHECK(full.code == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()).find("does not map vector 0") != std::string::npos);

  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) A.values[std::size_t(k)] *= 1 + 0.5 * std::cos(double(i));
  Distributed skew(A, options);
  CHECK(skew.code == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()).find("give left_nullspace, too") != std::string::npos);
}
