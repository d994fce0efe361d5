// The library writes nothing to the standard streams: not while it sets up, solves, refuses or fails.
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "check.hpp"
#include "conformance/problems.hpp"
#include "sordino/api/sordino.h"

using namespace problems;

namespace {

/// Both streams of the process, below whatever buffers them, for as long as it lives.
class Captured {
 public:
  Captured() : file_(std::tmpfile()) {
    REQUIRE(file_ != nullptr);
    std::fflush(nullptr);
    for (int stream : {1, 2}) {
      kept_[stream - 1] = dup(stream);
      dup2(fileno(file_), stream);
    }
  }
  ~Captured() {
    give_back();
    std::fclose(file_);
  }

  std::string text() {
    give_back();
    std::string all;
    std::rewind(file_);
    for (int c; (c = std::fgetc(file_)) != EOF;) all += char(c);
    return all;
  }

 private:
  void give_back() {
    std::fflush(nullptr);
    for (int stream : {1, 2})
      if (int& kept = kept_[stream - 1]; kept >= 0) {
        dup2(kept, stream);
        close(kept);
        kept = -1;
      }
  }
  std::FILE* file_;
  int kept_[2] = {-1, -1};
};

template <class Job>
bool fails(const Job& job) {
  try {
    job();
    return false;
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

TEST("what is written is captured, so that the next test can fail") {
  Captured captured;
  std::printf("a word");
  std::fprintf(stderr, "and another");
  CHECK(captured.text().size() == std::string("a wordand another").size());
}

TEST("setup, solves that end in every way, refusals and faults are silent in C++ and in C") {
  CsrMatrix A = poisson(8, 7, 6, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size()), bad(b.size(), NAN);
  int converged = 0, ended = 0, failed = 0;
  Captured captured;
  for (const char* engine : {"host", "model"}) {
    Options o = options("cg", engine, 2);
    o.trace = true;
    Solver solver(A.view(), o);
    converged += solver.solve(b.data(), x.data()).status == Status::converged;
    solver.options().maxiter = 1;
    ended += solver.solve(b.data(), x.data()).status == Status::max_iterations;
    failed += fails([&] { solver.solve(bad.data(), x.data()); });
    failed += fails([&] { Solver(A.view(), options("magic", engine, 2)); });
    failed += fails([&] { Solver(A.view(), options("cg", engine, 100000)); });
  }
  System broken{.A = A.view()};  // a fault of the ranks
  broken.product = [](const double*, double*) { throw Error(Errc::peer_failed, "out of coffee"); };
  Solver with_a_fault(broken, options("bicgstab", "host", 2));
  failed += fails([&] { with_a_fault.solve(b.data(), x.data()); });

  sordino_rows rows{0, A.n, A.indptr.data(), nullptr, A.values.data(), 64, 0};
  std::vector<i64> columns(A.indices.begin(), A.indices.end());
  sordino_solver* solver = nullptr;
  failed += sordino_create(&rows, "engine=host", &solver) == SORDINO_BAD_INPUT;
  rows.columns = columns.data();
  converged += sordino_create(&rows, "engine=host ranks=2", &solver) == SORDINO_OK;
  converged += sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_OK;
  failed += sordino_solve(solver, bad.data(), x.data(), nullptr) == SORDINO_BAD_INPUT;
  sordino_destroy(solver);
  std::string said = captured.text();
  CHECK(said.empty());
  CHECK(converged == 4);
  CHECK(ended == 2);
  CHECK(failed == 9);
}
