// sordino._core.RowsSolver: rows that stay with the processes that have them. Python's side has looked at its arguments before,
// and what it refuses comes as `refused`: so that all processes hear it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <numeric>

#include "basis.hpp"
#include "convert.hpp"
#include "of_process.hpp"
#include "sordino/api/rows_solver.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_MPI
#include "sordino/comm/transport/mpi_foreign.hpp"
#endif

namespace sordino::python {
namespace {

using Arrays = std::tuple<Array<i64>, Array<i32>, Array<double>>;
using Refused = std::optional<std::tuple<std::string, std::string>>;  // code and sentence

Error error_of(const std::tuple<std::string, std::string>& refused) {
  auto& [code, sentence] = refused;
  for (Errc c : {Errc::bad_argument, Errc::io, Errc::device, Errc::peer_failed, Errc::unsupported})
    if (code == name(c)) return {c, sentence};
  return {Errc::bad_argument, sentence};
}

/// What `job` throws, as an error that can be thrown where no Python runs.
template <class Job>
std::optional<Error> error_in(const Job& job) {
  try {
    job();
    return {};
  } catch (...) {
    return caught("", {});
  }
}

double timeout_of(const nb::dict& options) {
  double timeout = Options().timeout;
  if (options.contains("timeout")) nb::try_cast(options["timeout"], timeout);
  return timeout;
}

/// None: this process alone. Else what _rows.py says of an mpi4py communicator.
std::unique_ptr<Processes> processes_of(const nb::object& comm, [[maybe_unused]] double timeout) {
  if (comm.is_none()) return nullptr;
#if SORDINO_WITH_MPI
  auto place = [&](const char* key) { return reinterpret_cast<const void*>(nb::cast<std::uintptr_t>(comm[key])); };
  mpi::ForeignComm foreign{place("handle"), nb::cast<std::size_t>(comm["bytes"]), place("world"),
                           nb::cast<std::string>(comm["library"]), "mpi4py"};
  nb::gil_scoped_release release;
  return mpi::processes(foreign, timeout, "RowsSolver");
#else
  throw Error(Errc::unsupported, "this build has no MPI: build Sordino with SORDINO_MPI=ON, or pass None for one process");
#endif
}

class PyRowsSolver {
 public:
  PyRowsSolver(const nb::object& comm, const std::optional<Arrays>& arrays, i64 first_row, const nb::dict& options,
               const Refused& refused, i64 columns, const nb::object& machine, const nb::dict& null) {
    auto held = std::shared_ptr<Arrays>(new Arrays, [](Arrays* a) {
      nb::gil_scoped_acquire acquire;
      delete a;
    });
    Options o;
    CsrView view;
    std::optional<Machine> described;
    Nullspace nullspace;
    auto error = error_in([&] {
      if (refused) throw error_of(*refused);
      update(o, options);
      if (!machine.is_none()) described = machine_of(machine);
      if (null.contains("nullspace")) nullspace.right = basis_of(nb::object(null["nullspace"]));
      if (null.contains("left_nullspace")) nullspace.left = basis_of(nb::object(null["left_nullspace"]));
      if (!comm.is_none() && o.ranks == 0) o.ranks = 1;
      *held = arrays.value();
      auto& [indptr, indices, data] = *held;
      view = {0, indptr.data(), indices.data(), data.data(), 0, i64(indptr.size()) - 1};
    });
    Accord accord(processes_of(comm, timeout_of(options)));
    nb::gil_scoped_release release;
    accord.together([&] {
      if (error) throw *error;
    });
    const auto [before, n] = rows_before(accord, view.held);  // asked by all, though some may say where theirs begin
    accord.together([&, n = n] {
      if (columns >= 0 && columns != n)
        bad_argument("its rows have " + std::to_string(columns) + " columns, and all processes together have " +
                     std::to_string(n) + " rows: each passes the rows that it has, with the columns of the whole matrix");
    });
    view.first_row = first_row < 0 ? before : first_row;
    first_row_ = nullspace.right.first_row = nullspace.left.first_row = view.first_row;
    solver_ = OfProcess<RowsSolver>(new RowsSolver(view, o, std::move(accord), std::move(held), described, nullspace));
    solver_->attend([this] { look_for_signals(*solver_); });
  }
  PyRowsSolver(const PyRowsSolver&) = delete;
  ~PyRowsSolver() { close(); }

  void close() {
    nb::gil_scoped_release release;
    solver_.reset();
  }

  nb::dict solve(const std::optional<Array<double>>& b, const std::optional<Array<double>>& x0, const nb::dict& options,
                 const Refused& refused) {
    RowsSolver& solver = open();
    Options wanted = solver.options();
    auto error = error_in([&] {
      if (refused) throw error_of(*refused);
      update(wanted, options);
      require_size(b.value(), solver.rows(), "b");
      if (x0) require_size(*x0, solver.rows(), "x0");
    });
    std::vector<double> x(static_cast<std::size_t>(solver.rows()));
    Report report;
    {
      OptionsOfOneSolve for_this_one(solver, wanted);
      nb::gil_scoped_release release;
      if (error) solver.refuse(*error);
      report = solver.solve(b->data(), x.data(), x0 ? x0->data() : nullptr);
    }
    nb::dict d = report_dict(report, owned_array(std::move(x)));
    d["setup_seconds"] = solver.setup_seconds();
    d["solver"] = solver.method();
    d["solver_reason"] = solver.why_method();
    if (const std::string& why = solver.why_steps(); !why.empty()) d["s"] = solver.steps(), d["s_reason"] = why;
    d["precond"] = solver.preconditioner();
    d["storage"] = "csr";
    d["engine"] = solver.engine();
    d["ranks"] = solver.ranks();
    return d;
  }

  void update_values(const std::optional<Array<double>>& data, i64 entries, const Refused& refused) {
    RowsSolver& solver = open();
    auto error = error_in([&] {
      if (refused) throw error_of(*refused);
      require_size(data.value(), entries, "the array of new values");
    });
    nb::gil_scoped_release release;
    if (error) solver.refuse(*error);
    solver.update_values(data->data());
  }

  i64 n() const { return open().n(); }
  i64 first_row() const { return first_row_; }
  int ranks() const { return open().ranks(); }

 private:
  /// While a solve runs, whether it ends well or not.
  struct OptionsOfOneSolve {
    OptionsOfOneSolve(RowsSolver& s, const Options& wanted) : solver(s), kept(s.options()) { s.options() = wanted; }
    ~OptionsOfOneSolve() { solver.options() = kept; }
    RowsSolver& solver;
    Options kept;
  };

  /// Rows of the processes before this one, and of all.
  static std::pair<i64, i64> rows_before(Accord& accord, i64 mine) {
    std::vector<double> rows(std::size_t(accord.count()));
    rows[std::size_t(accord.index())] = double(mine);
    rows = accord.most(std::move(rows));
    auto mine_at = rows.begin() + accord.index();
    return {i64(std::accumulate(rows.begin(), mine_at, 0.0)), i64(std::accumulate(rows.begin(), rows.end(), 0.0))};
  }

  static void require_size(const Array<double>& v, i64 size, const char* what) {
    if (i64(v.size()) != size)
      bad_argument(std::string(what) + " has " + std::to_string(v.size()) + " values, and " + std::to_string(size) +
                   " are expected");
  }

  /// Ctrl-C: the solve ends in all processes with the best x, and says so.
  static void look_for_signals(RowsSolver& solver) {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() == 0) return;
    PyErr_Clear();
    solver.stop(Status::interrupted);
  }

  RowsSolver& open() const {
    if (!solver_) bad_argument("this solver has been closed");
    return *solver_;
  }

  i64 first_row_ = 0;
  OfProcess<RowsSolver> solver_;
};

}  // namespace

void define_rows(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyRowsSolver>(m, "RowsSolver")
      .def(nb::init<const nb::object&, const std::optional<Arrays>&, i64, const nb::dict&, const Refused&, i64,
                    const nb::object&, const nb::dict&>(),
           "comm"_a.none(), "arrays"_a.none(), "first_row"_a, "options"_a, "refused"_a.none() = nb::none(), "columns"_a = -1,
           "machine"_a.none() = nb::none(), "null"_a = nb::dict())
      .def("solve", &PyRowsSolver::solve, "b"_a.none(), "x0"_a.none() = nb::none(), "options"_a = nb::dict(),
           "refused"_a.none() = nb::none())
      .def("update_values", &PyRowsSolver::update_values, "data"_a.none(), "entries"_a, "refused"_a.none() = nb::none())
      .def("close", &PyRowsSolver::close)
      .def_prop_ro("n", &PyRowsSolver::n)
      .def_prop_ro("first_row", &PyRowsSolver::first_row)
      .def_prop_ro("ranks", &PyRowsSolver::ranks);
}

}  // namespace sordino::python
