// The C ABI in one process: the same bits as a Solver, codes and sentences instead of exceptions.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "check.hpp"
#include "conformance/problems.hpp"
#include "sordino/api/sordino.h"
#include "sordino/config.hpp"

using namespace problems;

namespace {

/// A matrix in the arrays of a C program, with indices of either width and base.
template <class I>
struct Arrays {
  std::vector<I> starts, columns;
  std::vector<double> values;
  sordino_rows rows{};

  explicit Arrays(const CsrMatrix& A, int base = 0) : values(A.values) {
    for (i64 s : A.indptr) starts.push_back(I(s + base));
    for (i64 c : A.indices) columns.push_back(I(c + base));
    rows = {base, A.n, starts.data(), columns.data(), values.data(), int(8 * sizeof(I)), base};
  }
};

struct Handle {
  sordino_solver* solver = nullptr;
  int code;
  Handle(const sordino_rows& rows, const char* options) : code(sordino_create(&rows, options, &solver)) {}
  ~Handle() { sordino_destroy(solver); }
  sordino_report figures() const {
    sordino_report r{};
    CHECK(sordino_figures(solver, &r) == SORDINO_OK);
    return r;
  }
};

CsrMatrix small() { return matrices::csr({{{0, 4.0}, {1, -1.0}}, {{0, -1.0}, {1, 4.0}, {2, -1.0}}, {{1, -1.0}, {2, 4.0}}}); }

/// What creating a solver says, and that it gives none.
std::string refusal(const sordino_rows& rows, const char* options, const char* error = "bad_argument") {
  sordino_solver* solver = reinterpret_cast<sordino_solver*>(1);
  CHECK(sordino_create(&rows, options, &solver) == SORDINO_BAD_INPUT);
  CHECK(solver == nullptr);
  CHECK(std::string(sordino_error()) == error);
  return sordino_message();
}

}  // namespace

TEST("the version is that of the headers") {
  std::string parts[] = {std::to_string(SORDINO_VERSION_MAJOR), std::to_string(SORDINO_VERSION_MINOR),
                         std::to_string(SORDINO_VERSION_PATCH)};
  CHECK(sordino_version() == parts[0] + "." + parts[1] + "." + parts[2]);
}

TEST("what was done where a recurrence led no further is told to C") {
  CsrMatrix A = poisson(9, 8, 7, 7, 1e3);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  Arrays<int32_t> rows(A);
  Handle h(rows.rows, "engine=host solver=prcg precond=jacobi rtol=1e-17");
  REQUIRE(h.code == SORDINO_OK);
  CHECK(sordino_recoveries(h.solver, nullptr, 0) == 0);
  CHECK(sordino_recoveries(nullptr, nullptr, 0) == 0);
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
  const int64_t count = sordino_recoveries(h.solver, nullptr, 100);
  REQUIRE(count >= 2);
  std::vector<sordino_recovery> all(std::size_t(count + 1), sordino_recovery{-1, nullptr, nullptr, 0});
  CHECK(sordino_recoveries(h.solver, all.data(), 1) == count);
  CHECK(all[1].iteration == -1);  // not written
  CHECK(sordino_recoveries(h.solver, all.data(), count + 1) == count);
  const sordino_recovery &first = all[0], &last = all[std::size_t(count - 1)];
  CHECK(std::string(first.kind) == "residual replaced");
  CHECK(std::string(last.kind) == "classic CG");
  CHECK(std::string(last.why).size() > 0);
  CHECK(last.iteration >= first.iteration);
  CHECK(last.iteration < h.figures().iterations);
  CHECK(last.residual > 0);
  CHECK(last.residual < 1e-10);
  CHECK(all[std::size_t(count)].iteration == -1);
}

TEST("a solver from C has the bits of a Solver, whatever indices its matrix came with") {
  CsrMatrix A = poisson(7, 6, 5, 7, 0.1);
  std::vector<double> b(std::size_t(A.n)), x(b.size()), expected(b.size());
  for (std::size_t i = 0; i < b.size(); i++) b[i] = std::sin(double(i));
  for (int ranks : {1, 3})
    for (const char* method : {"cg", "bicgstab", "gatherbicgstab"}) {
      NOTE(method, " on ", ranks, " ranks");
      Report report = Solver(A.view(), options(method, "host", ranks)).solve(b.data(), expected.data());
      std::string text = "engine=host rtol=1e-8 solver=" + std::string(method) + " ranks=" + std::to_string(ranks);
      Arrays<int32_t> narrow(A), narrow_1(A, 1);
      Arrays<int64_t> wide(A), wide_1(A, 1);
      for (auto* rows : {&narrow.rows, &narrow_1.rows, &wide.rows, &wide_1.rows}) {
        Handle h(*rows, text.c_str());
        REQUIRE(h.code == SORDINO_OK);
        CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
        CHECK(std::memcmp(x.data(), expected.data(), x.size() * sizeof(double)) == 0);
        sordino_report r = h.figures();
        CHECK(r.iterations == report.iterations);
        CHECK(r.true_residual == report.true_residual);
        CHECK(r.reductions == report.ledger.reductions);
        CHECK(r.n == A.n);
        CHECK(r.ranks == ranks);
      }
    }
}

TEST("a matrix that was passed may go at once, and new values are copied, too") {
  CsrMatrix A = small();
  std::vector<double> b{3, 2, 3}, x(3);
  auto arrays = std::make_unique<Arrays<int32_t>>(A);
  Handle h(arrays->rows, "engine=host ranks=2 rtol=1e-12");
  std::fill(arrays->values.begin(), arrays->values.end(), NAN);
  arrays.reset();
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  for (double v : x) CHECK_NEAR(v, 1.0, 1e-10);
  std::vector<double> doubled = A.values;
  for (double& v : doubled) v *= 2;
  CHECK(sordino_update_values(h.solver, doubled.data()) == SORDINO_OK);
  std::fill(doubled.begin(), doubled.end(), NAN);
  CHECK(sordino_solve(h.solver, b.data(), b.data(), nullptr) == SORDINO_OK);  // in place
  for (double v : b) CHECK_NEAR(v, 0.5, 1e-10);
}

TEST("bad matrices are refused with one sentence") {
  CsrMatrix A = small();
  Arrays<int32_t> good(A);
  auto with = [&](auto change) {
    Arrays<int32_t> a(A);
    change(a);
    return refusal(a.rows, "engine=host");
  };
  CHECK(with([](auto& a) { a.values[3] = NAN; }).starts_with("the matrix holds a NaN or Inf at row 1, column 1"));
  CHECK(with([](auto& a) { std::swap(a.columns[2], a.columns[3]); }) == "columns of row 1 are not in increasing order");
  CHECK(with([](auto& a) { a.columns[6] = 3; }) == "column index 3 in row 2 is out of range (n = 3)");
  CHECK(with([](auto& a) { a.columns[0] = -1; }) == "column number -1 of entry 0 is less than index_base");
  CHECK(with([](auto& a) { a.starts[0] = 1; }) == "row_starts must begin with index_base, which is 0, not with 1");
  CHECK(with([](auto& a) { a.starts[1] = 6; }) == "row_starts decreases at row 1");
  CHECK(with([](auto& a) { a.starts[1] = 0; }).starts_with("row 0 of the matrix is empty"));
  CHECK(with([](auto& a) { a.rows.row_starts = nullptr; }) == "row_starts is a null pointer");
  CHECK(with([](auto& a) { a.rows.columns = nullptr; }) == "columns is a null pointer");
  CHECK(with([](auto& a) { a.rows.values = nullptr; }) == "values is a null pointer");
  CHECK(with([](auto& a) { a.rows.index_bits = 16; }) == "index_bits is 32 or 64, not 16");
  CHECK(with([](auto& a) { a.rows.index_base = 2; }) == "index_base is 0 or 1, not 2");
  CHECK(with([](auto& a) { a.rows.rows = -1; }) == "the number of rows is negative: -1");
  CHECK(with([](auto& a) { a.rows.rows = 0; }).starts_with("there are no rows here"));
  CHECK(with([](auto& a) { a.rows.first_row = 2; }) == "the rows of a whole matrix begin with 0, not with 2");
  Arrays<int64_t> wide(A);
  wide.columns[6] = i64(1) << 40;
  CHECK(refusal(wide.rows, "").find("is beyond 2^31") != std::string::npos);
  wide.rows.rows = i64(1) << 40;
  CHECK(refusal(wide.rows, "", "unsupported") == "more than 2^31 rows are not supported");
  CHECK(sordino_create(nullptr, "", nullptr) == SORDINO_BAD_INPUT);
  sordino_solver* solver = nullptr;
  CHECK(sordino_create(nullptr, "", &solver) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "the matrix is a null pointer");
}

TEST("numbers of another width than index_bits says are named as what they look like") {
  for (int base : {0, 1}) {
    NOTE("from ", base);
    Arrays<int32_t> narrow(small(), base);
    narrow.rows.index_bits = 64;
    std::string said = refusal(narrow.rows, "engine=host");
    CHECK(said.starts_with("row_starts must begin with index_base, which is " + std::to_string(base) + ", not with "));
    CHECK(said.ends_with(": it looks like numbers of 32 bits, and index_bits is 64"));
    Arrays<int64_t> wide(small(), base);
    wide.rows.index_bits = 32;
    CHECK(refusal(wide.rows, "engine=host") == "row_starts decreases at row " + std::to_string(base == 0 ? 2 : 0) +
                                                   ": it looks like numbers of 64 bits, and index_bits is 32");
  }
}

TEST("options are those of the command line, and bad ones are refused") {
  Arrays<int32_t> a(small());
  std::string known;
  for (auto& o : option_table()) known += (known.empty() ? "" : ", ") + o.name;
  CHECK(refusal(a.rows, "color=red") == "there is no option 'color'; there are " + known);
  CHECK(refusal(a.rows, "maxit=5") == "there is no option 'maxit': did you mean 'maxiter'?");
  CHECK(refusal(a.rows, "time-limit=5") == "there is no option 'time-limit': did you mean 'time_limit'?");
  CHECK(refusal(a.rows, "method=magic").starts_with("there is no solver 'magic'"));
  CHECK(refusal(a.rows, "rtol") == "'rtol' is not name=value");
  CHECK(refusal(a.rows, "ranks=two") == "'two' is no value of the option ranks");
  CHECK(refusal(a.rows, "ranks=2.5") == "'2.5' is no value of the option ranks");
  CHECK(refusal(a.rows, "trace=yes") == "'yes' is no value of the option trace");
  CHECK(refusal(a.rows, "s=many") == "'many' is no value of the option s");
  CHECK(refusal(a.rows, "s=0") == "s must be auto, or from 1 to 16, not 0");
  CHECK(Handle(a.rows, "engine=host ranks=1 solver=cbcg s=auto").code == SORDINO_OK);
  CHECK(refusal(a.rows, "rtol=-1") == "rtol must be a finite number >= 0");
  CHECK(refusal(a.rows, "engine=abacus").starts_with("there is no engine 'abacus'"));
  CHECK(refusal(a.rows, "ranks=4 engine=host") == "more ranks (4) than rows (3)");
  Handle other_names(a.rows, "engine=host max_iterations=5 method=bicgstab M=none");
  CHECK(std::string(sordino_method(other_names.solver)) == "bicgstab");
  CHECK(std::string(sordino_preconditioner(other_names.solver)) == "none");
  CHECK(sordino_set(other_names.solver, "max_iterations=7") == SORDINO_OK);
  std::string all;
  for (auto& o : option_table())
    if (!o.default_text.empty()) all += o.name + "=" + o.default_text + "\t ";
  Handle every(a.rows, (all + "engine=host ranks=1").c_str());
  CHECK(every.code == SORDINO_OK);
  Arrays<int32_t> enough(poisson(10, 10, 10, 7, 1.0));  // rows for as many ranks as there are cores
  Handle none(enough.rows, nullptr);
  CHECK(none.code == SORDINO_OK);
  CHECK(sordino_set(none.solver, "maxiter=5 rtol=1e-3") == SORDINO_OK);
  CHECK(sordino_set(none.solver, "solver=cg") == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()).starts_with("the option solver is fixed when a solver is created"));
}

TEST("ranks that nobody asked for are no more than rows") {
  Arrays<int32_t> one(matrices::csr({{{0, 4.0}}}));
  for (const char* engine : {"", "engine=host", "engine=model"}) {
    NOTE(engine);
    Handle h(one.rows, engine);
    REQUIRE(h.code == SORDINO_OK);
    double b = 8, x = 0;
    CHECK(sordino_solve(h.solver, &b, &x, nullptr) == SORDINO_OK);
    CHECK(x == 2);
    CHECK(h.figures().ranks == 1);
  }
  CHECK(refusal(one.rows, "engine=host ranks=2") == "more ranks (2) than rows (1)");
}

TEST("the automatic choices are those of a Solver") {
  Arrays<int32_t> symmetric(small());
  CsrMatrix skewed = small();
  skewed.values[1] = -2;
  Arrays<int32_t> other(skewed);
  skewed.values[0] = 0;
  Arrays<int32_t> zero(skewed);
  Handle s(symmetric.rows, "engine=host"), o(other.rows, "engine=host"), z(zero.rows, "engine=host");
  CHECK(std::string(sordino_method(s.solver)) == "cg");
  CHECK(std::string(sordino_method(o.solver)) == "bicgstab");
  CHECK(std::string(sordino_preconditioner(o.solver)) == "jacobi");
  CHECK(std::string(sordino_preconditioner(z.solver)) == "none");
  CHECK(std::string(sordino_engine(z.solver)) == "host");
  CHECK(refusal(zero.rows, "engine=host precond=jacobi").find("row 0 is zero") != std::string::npos);

  Handle general(symmetric.rows, "engine=host symmetry=general"), told(symmetric.rows, "engine=host symmetry=hermitian");
  CHECK(std::string(sordino_method(general.solver)) == "bicgstab");
  CHECK(std::string(sordino_method(told.solver)) == "cg");
  CHECK(refusal(other.rows, "engine=host symmetry=symmetric") ==
        "symmetry is said to be symmetric, and the matrix is not symmetric");
}

TEST("how a solve went: a code, figures, a history and a sentence") {
  CsrMatrix A = poisson(9, 9, 9, 7, 1.0);
  Arrays<int32_t> a(A);
  Handle h(a.rows, "engine=host ranks=2 maxiter=3 rtol=1e-12 solver=cg");
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  sordino_report r;
  CHECK(sordino_figures(h.solver, &r) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "there has been no solve yet");
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
  CHECK(std::string(sordino_message()).starts_with("the maximum number of iterations is reached; relative residual"));
  CHECK(std::string(sordino_error()).empty());
  r = h.figures();
  CHECK(r.status == SORDINO_MAX_ITERATIONS);
  CHECK(std::string(sordino_status_name(r.status)) == "max_iterations");
  CHECK(r.iterations == 3);
  double history[2] = {};
  CHECK(sordino_history(h.solver, history, 2) == 3);
  CHECK(history[1] > 0);
  CHECK(sordino_history(h.solver, nullptr, 0) == 3);

  CHECK(sordino_set(h.solver, "maxiter=1000 rtol=1e-10") == SORDINO_OK);
  CHECK(sordino_set_stream(h.solver, nullptr) == SORDINO_OK);
  for (double scale : {1e-200, 1.0, 1e200}) {
    NOTE("scale ", scale);
    std::vector<double> far = b;
    for (double& v : far) v *= scale;
    CHECK(sordino_solve(h.solver, far.data(), x.data(), nullptr) == SORDINO_OK);
    CHECK(h.figures().true_residual <= 1e-10);
  }
}

TEST("a matrix that is not symmetric explains why a method that needs one has failed") {
  const std::string advice = "; the matrix is not symmetric, which solver cg needs: use bicgstab";
  CsrMatrix A = poisson(9, 9, 9, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  auto said = [&](const char* solver) {
    Arrays<int32_t> a(A);
    Handle h(a.rows, ("engine=host ranks=2 maxiter=3 rtol=1e-12 solver=" + std::string(solver)).c_str());
    CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
    return std::string(sordino_message());
  };
  CHECK(said("cg").find("symmetric") == std::string::npos);
  A.values[1] *= 1.5;
  CHECK(said("cg").ends_with(advice));
  CHECK(said("prcg").find("which solver prcg needs") != std::string::npos);
  CHECK(said("bicgstab").find("symmetric") == std::string::npos);
}

TEST("a solve that its time limit ends says so") {
  CsrMatrix A = poisson(40, 40, 40, 7, 1e8);
  Arrays<int32_t> a(A);
  Handle h(a.rows, "engine=host ranks=2 solver=cg precond=none rtol=1e-250 maxiter=1000000 time_limit=0.2");
  std::vector<double> b(std::size_t(A.n), 1.0), x(b.size());
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
  CHECK(h.figures().status == SORDINO_TIME_LIMIT);
  CHECK(std::string(sordino_message()).starts_with("stopped on request: the time limit is reached; relative residual"));
}

TEST("what a solve or an update refuses changes nothing, and the solver goes on") {
  Arrays<int32_t> a(small());
  Handle h(a.rows, "engine=host ranks=2 rtol=1e-12");
  std::vector<double> b{3, 2, 3}, x(3, 7), bad{3, INFINITY, 3};
  CHECK(sordino_solve(nullptr, b.data(), x.data(), nullptr) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "the solver is a null pointer");
  CHECK(sordino_solve(h.solver, nullptr, x.data(), nullptr) == SORDINO_BAD_INPUT);
  CHECK(sordino_solve(h.solver, b.data(), nullptr, nullptr) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "x is a null pointer");
  CHECK(sordino_solve(h.solver, bad.data(), x.data(), nullptr) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "the right-hand side holds a NaN or Inf at row 1");
  CHECK(sordino_solve(h.solver, b.data(), x.data(), bad.data()) == SORDINO_BAD_INPUT);
  CHECK(x == std::vector<double>(3, 7));
  std::vector<double> values = a.values;
  values[3] = 0;
  CHECK(sordino_update_values(h.solver, values.data()) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()).find("row 1 is zero") != std::string::npos);
  CHECK(sordino_update_values(h.solver, nullptr) == SORDINO_BAD_INPUT);
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  for (double v : x) CHECK_NEAR(v, 1.0, 1e-10);
}

TEST("each thread has its own message") {
  Arrays<int32_t> a(small());
  refusal(a.rows, "color=red");
  std::string before = sordino_message(), elsewhere;
  std::thread([&] {
    CHECK(std::string(sordino_message()).empty());
    elsewhere = refusal(a.rows, "ranks=two");
  }).join();
  CHECK(elsewhere == "'two' is no value of the option ranks");
  CHECK(sordino_message() == before);
}

TEST("C has nullspace=constant, checked, and leaves METIS to Python") {
  CsrMatrix A = neumann(poisson(6, 5, 4, 7, 1.0));
  Arrays<int32_t> rows(A), full(poisson(6, 5, 4, 7, 1.0));
  std::vector<double> b(std::size_t(A.n)), x(b.size());
  for (std::size_t i = 0; i < b.size(); i++) b[i] = double(i);
  Handle h(rows.rows, "engine=host ranks=2 rtol=1e-10 nullspace=constant");
  REQUIRE(h.code == SORDINO_OK);
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  CHECK(std::string(sordino_message()).find("outside the range of A") != std::string::npos);
  double sum = 0, most = 0;
  for (double v : x) sum += v, most = std::max(most, std::abs(v));
  CHECK(std::abs(sum) < 1e-10 * most);
  CHECK(sordino_update_values(h.solver, full.values.data()) == SORDINO_BAD_INPUT);
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  CHECK(refusal(full.rows, "engine=host nullspace=constant").find("does not map vector 0") != std::string::npos);
  CHECK(refusal(rows.rows, "engine=host partition=metis", "unsupported").find("'blocks'") != std::string::npos);
}
