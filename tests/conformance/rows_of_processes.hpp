// Rows of a matrix that stay with the processes that have them, behind the C ABI.
#pragma once
#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "mpi_world.hpp"
#include "problems.hpp"
#include "sordino/api/sordino.h"  // after mpi.h

namespace rows_of_processes {

using namespace problems;

inline constexpr const char* quick = "engine=host rtol=1e-9 timeout=30";

/// This process's rows of A, where process p begins at cut(p).
struct Mine {
  std::vector<int64_t> starts, columns;
  std::vector<double> values;
  sordino_rows rows{};

  Mine(const CsrMatrix& A, i64 first, i64 end) {
    for (i64 i = first; i <= end; i++) starts.push_back(A.indptr[std::size_t(i)] - A.indptr[std::size_t(first)]);
    auto from = A.indptr[std::size_t(first)], to = A.indptr[std::size_t(end)];
    columns.assign(A.indices.begin() + from, A.indices.begin() + to);
    values.assign(A.values.begin() + from, A.values.begin() + to);
    rows = {first, end - first, starts.data(), columns.data(), values.data(), 64, 0};
  }
};

/// Uneven on purpose: process p has about p + 1 parts.
inline i64 cut(i64 n, int p, int processes) { return n * p * (p + 1) / (processes * (processes + 1)); }

struct World {
  explicit World(MPI_Comm c = MPI_COMM_WORLD) : comm(c) {
    MPI_Comm_rank(comm, &process);
    MPI_Comm_size(comm, &processes);
  }
  i64 first(i64 n) const { return cut(n, process, processes); }
  i64 end(i64 n) const { return cut(n, process + 1, processes); }
  Mine mine(const CsrMatrix& A) const { return Mine(A, first(A.n), end(A.n)); }
  std::vector<double> mine(const std::vector<double>& v) const {
    return {v.begin() + first(i64(v.size())), v.begin() + end(i64(v.size()))};
  }
  /// All rows, for a test to look at.
  std::vector<double> whole(const std::vector<double>& x, i64 n) const {
    std::vector<double> all(static_cast<std::size_t>(n));
    std::copy(x.begin(), x.end(), all.begin() + first(n));
    MPI_Allreduce(MPI_IN_PLACE, all.data(), int(n), MPI_DOUBLE, MPI_SUM, comm);
    return all;
  }
  MPI_Comm comm;
  int process = 0, processes = 1;
};

struct Handle {
  sordino_solver* solver = nullptr;
  int code;
  Handle(const World& w, const sordino_rows& rows, const char* options = quick)
      : code(sordino_create_mpi(w.comm, &rows, options, &solver)) {}
  ~Handle() { sordino_destroy(solver); }
  sordino_report figures() const {
    sordino_report r{};
    CHECK(sordino_figures(solver, &r) == SORDINO_OK);
    return r;
  }
};

inline double relative_residual(const CsrMatrix& A, const std::vector<double>& b, const std::vector<double>& x) {
  double rr = 0, bb = 0;
  for (i64 i = 0; i < A.n; i++) {
    double r = b[std::size_t(i)];
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      r -= A.values[std::size_t(k)] * x[std::size_t(A.indices[std::size_t(k)])];
    rr += r * r, bb += b[std::size_t(i)] * b[std::size_t(i)];
  }
  return std::sqrt(rr / bb);
}

inline std::vector<double> waves(i64 n) {
  std::vector<double> b;
  for (i64 i = 0; i < n; i++) b.push_back(std::sin(double(i)));
  return b;
}

/// The same sentence in all processes, and it.
inline std::string said_by_all(int code) {
  CHECK(code == SORDINO_BAD_INPUT);
  std::string message = sordino_message();
  CHECK(mpi_world::of_the_last(message) == message);
  return message;
}

}  // namespace rows_of_processes
