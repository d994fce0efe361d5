// sordino._core.Solver: what a solve takes and returns.
#include "given_system.hpp"
#include "of_process.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/grid_system.hpp"
#include "sordino/base/large_vector.hpp"
#include "sordino/linalg/storage_choice.hpp"

namespace sordino::python {
namespace {

/// Whom the looks of a running solve are for. A call that takes longer than the ranks' patience outlives the solve, and perhaps
/// the solver: what it needs is kept here, and looked at with the GIL.
struct Watching {
  nb::object look;
  Solver* solver = nullptr;

  void call(int iteration, double residual, const double* x, i64 n) {
    nb::gil_scoped_acquire acquire;
    nb::object f = look;
    if (!f.is_valid()) return;
    try {
      nb::object seen = x ? view(x, n) : nb::none();
      if (nb::cast<bool>(nb::bool_(f(iteration, residual, seen))) && solver) solver->stop(Status::stopped_by_user);
    } catch (nb::python_error& raised) {
      throw Error(Errc::peer_failed, raised.what());
    }
  }
};

/// Nothing for None: nobody has described it.
std::optional<Machine> described(const nb::object& machine) {
  return machine.is_none() ? std::nullopt : std::optional(machine_of(machine));
}

/// A solver and the arrays it views.
class PySolver {
 public:
  PySolver(Array<i64> indptr, Array<i32> indices, Array<double> data, i64 n, const nb::dict& options, const nb::object& machine,
           const nb::dict& given)
      : given_(indptr, indices, data, n, given), data_(data), n_(given_.system.words()) {
    Options o;
    update(o, options);
    std::optional<Machine> m = described(machine);
    System& system = given_.system;
    if (system.watch.every > 0)
      system.watch.look = [watch = watch_, n = n_](int iteration, double residual, const double* x) {
        watch->call(iteration, residual, x, n);
      };
    nb::gil_scoped_release release;
    solver_ = OfProcess<Solver>(new Solver(system, o, m));
    watch_->solver = solver_.get();
  }
  ~PySolver() { watch_->solver = nullptr; }
  PySolver(const PySolver&) = delete;

  /// x: where the solution is to go; none: into a new array of the host.
  nb::dict solve(Vector<const double> b, const nb::object& x0, const nb::object& progress, const nb::dict& options,
                 const nb::object& look, const nb::object& x) {
    require_words(b, n_, "the right-hand side");
    Vector<const double> first;
    if (!x0.is_none()) require_words(first = nb::cast<Vector<const double>>(x0), n_, "x0");
    const double* start = x0.is_none() ? nullptr : first.data();
    Vector<double> place;
    if (!x.is_none()) require_words(place = nb::cast<Vector<double>>(x), n_, "x");
    std::vector<double> made = large_vector<double>(x.is_none() ? static_cast<std::size_t>(n_) : 0);
    double* found = x.is_none() ? made.data() : place.data();
    Options wanted = solver_->options();
    update(wanted, options);
    OptionsOfOneSolve for_this_one(*solver_, wanted);
    auto look_up = looking_up(progress);
    Report report;
    {
      Looking looking(*this, look);
      nb::gil_scoped_release release;
      report = solver_->solve(b.data(), found, start, look_up);
    }
    bool root = solver_->first_rank() == 0;
    return with_facts(report_dict(report, !root ? nb::none() : x.is_none() ? owned_array(std::move(made)) : x));
  }

  /// As solve(), of several columns of the host, and x0 or none of each: what solve() says of each of them.
  std::vector<nb::dict> solve_columns(const std::vector<Array<double>>& b, const std::vector<nb::object>& x0,
                                      const nb::object& progress, const nb::dict& options) {
    if (x0.size() != b.size()) bad_argument("there is not one x0, or None, for each column");
    std::vector<std::vector<double>> made;
    std::vector<const double*> sides, starts;
    std::vector<double*> places;
    std::vector<Array<double>> given;
    for (const Array<double>& column : b) {
      if (i64(column.size()) != n_) bad_argument("a right-hand side has another size than the matrix");
      sides.push_back(column.data());
      made.push_back(large_vector<double>(std::size_t(n_)));
    }
    for (const nb::object& start : x0) {
      if (!start.is_none()) given.push_back(nb::cast<Array<double>>(start));
      if (!start.is_none() && i64(given.back().size()) != n_) bad_argument("an x0 has another size than the matrix");
      starts.push_back(start.is_none() ? nullptr : given.back().data());
    }
    for (std::vector<double>& column : made) places.push_back(column.data());
    Options wanted = solver_->options();
    update(wanted, options);
    OptionsOfOneSolve for_this_one(*solver_, wanted);
    auto look_up = looking_up(progress);
    std::vector<Report> reports;
    {
      nb::gil_scoped_release release;
      reports = solver_->solve_columns(sides, places, starts, look_up);
    }
    std::vector<nb::dict> said;
    for (std::size_t k = 0; k < reports.size(); k++)
      said.push_back(with_facts(report_dict(reports[k], owned_array(std::move(made[k])))));
    return said;
  }
  int columns_at_once() const { return solver_->columns_at_once(); }

  void update_values(Array<double> data) {
    if (data.size() != data_.size()) bad_argument("the new values are not as many as the matrix has entries");
    {
      nb::gil_scoped_release release;
      solver_->update_values(data.data());
    }
    data_ = data;
  }

  /// Of a grid's matrix, as `grid_matrix` has it.
  void update_fields(const PyGrid& given) {
    given_.update_grid(given, [&](const GridMatrix& fields) {
      nb::gil_scoped_release release;
      solver_->update_values(fields);
    });
  }

  double time_product(int pairs) {
    nb::gil_scoped_release release;
    return solver_->time_product(pairs);
  }

  const std::string& method() const { return solver_->method(); }
  int steps() const { return solver_->steps(); }
  std::vector<double> exposed_halos() const { return solver_->exposed_halos(); }

  /// What Python's collector of cycles has to know: a function may, by way of what it has captured, hold this solver.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    for (auto& f : nb::inst_ptr<PySolver>(self)->given_.functions) Py_VISIT(f->ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    for (auto& f : nb::inst_ptr<PySolver>(self)->given_.functions) *f = nb::none();
    return 0;
  }

  nb::dict memory() const {
    nb::dict d;
    d["bytes_per_rank"] = solver_->memory();
    d["first_rank"] = solver_->first_rank();
    d["device_allocations"] = solver_->device_allocations();
    d["matrix_bytes"] = bytes_of_made_rows(given_.system, solver_->options());
    return d;
  }

 private:
  /// While a solve runs, whether it ends well or not.
  struct OptionsOfOneSolve {
    OptionsOfOneSolve(Solver& s, const Options& wanted) : solver(s), kept(s.options()) { s.options() = wanted; }
    ~OptionsOfOneSolve() { solver.options() = kept; }
    Solver& solver;
    Options kept;
  };
  /// While a solve runs: whom its looks are for.
  struct Looking {
    Looking(PySolver& s, const nb::object& look) : watch(*s.watch_) {
      if (!look.is_none()) watch.look = look;
    }
    ~Looking() { watch.look = nb::object(); }
    Watching& watch;
  };

  ProgressCallback looking_up(const nb::object& progress) {
    return [this, &progress](int iteration, double residual) {
      nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) {  // Ctrl-C: the solve ends with the best x, and says so
        PyErr_Clear();
        solver_->stop(Status::interrupted);
      }
      return !progress.is_none() && nb::cast<bool>(nb::bool_(progress(iteration, residual)));
    };
  }

  /// What is true of every solve.
  nb::dict with_facts(nb::dict d) const {
    d["setup_seconds"] = solver_->setup_seconds();
    d["solver"] = solver_->method();
    d["solver_reason"] = solver_->why_method();
    if (const std::string& why = solver_->why_steps(); !why.empty()) d["s"] = solver_->steps(), d["s_reason"] = why;
    d["precond"] = solver_->preconditioner();
    d["precond_reason"] = solver_->why_preconditioner();
    d["symmetry"] = solver_->symmetry();
    d["storage"] = solver_->storage();
    d["storage_reason"] = solver_->why_stored_so();
    d["setup_reason"] = solver_->setup_reason();
    d["engine"] = solver_->engine();
    d["transport"] = solver_->transport();
    d["ranks"] = solver_->ranks();
    return d;
  }

  GivenSystem given_;
  Array<double> data_;
  i64 n_;  // words of a vector
  std::shared_ptr<Watching> watch_ = std::make_shared<Watching>();
  OfProcess<Solver> solver_;
};

std::vector<i64> estimate(Array<i64> indptr, Array<i32> indices, Array<double> data, i64 n, const nb::dict& options,
                          const nb::dict& given, const nb::object& machine) {
  GivenSystem all(indptr, indices, data, n, given);
  Options o;
  update(o, options);
  std::optional<Machine> m = described(machine);
  nb::gil_scoped_release release;
  return estimate_memory(all.system, o, o.ranks * number_of_processes(), o.engine == "cuda", m);
}

/// What storage=auto takes for a matrix like this one of which a rank has so many rows, and why. `unit`: of sqrt-jacobi.
std::tuple<std::string, std::string> automatic_storage(Array<i64> indptr, Array<i32> indices, Array<double> data, i64 n,
                                                       i64 rows, bool unit, const nb::dict& given) {
  GivenSystem all(indptr, indices, data, n, given);
  nb::gil_scoped_release release;
  StorageChoice found = choose_storage(all.system.A, "auto", rows, unit, all.system.cells);
  return {found.name, found.why};
}

}  // namespace

void define_solver(nb::module_& m) {
  using namespace nb::literals;
  m.def("estimate_memory", &estimate, "indptr"_a, "indices"_a, "data"_a, "n"_a, "options"_a, "given"_a = nb::dict(),
        "machine"_a.none() = nb::none());
  m.def("automatic_storage", &automatic_storage, "indptr"_a, "indices"_a, "data"_a, "n"_a, "rows"_a, "unit"_a,
        "given"_a = nb::dict());
  static PyType_Slot collected[] = {{Py_tp_traverse, reinterpret_cast<void*>(&PySolver::traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(&PySolver::clear)},
                                    {0, nullptr}};
  nb::class_<PySolver>(m, "Solver", nb::type_slots(collected))
      .def(nb::init<Array<i64>, Array<i32>, Array<double>, i64, nb::dict, nb::object, nb::dict>(), "indptr"_a, "indices"_a,
           "data"_a, "n"_a, "options"_a, "machine"_a.none() = nb::none(), "given"_a = nb::dict())
      .def("solve", &PySolver::solve, "b"_a, "x0"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
           "options"_a = nb::dict(), "look"_a.none() = nb::none(), "x"_a.none() = nb::none())
      .def("solve_columns", &PySolver::solve_columns, "b"_a, "x0"_a, "progress"_a.none() = nb::none(), "options"_a = nb::dict())
      .def("columns_at_once", &PySolver::columns_at_once)
      .def("update_values", &PySolver::update_values, "data"_a)
      .def("update_fields", &PySolver::update_fields, "given"_a)
      .def("time_product", &PySolver::time_product, "pairs"_a)
      .def("method", &PySolver::method)
      .def("steps", &PySolver::steps)
      .def("exposed_halos", &PySolver::exposed_halos)
      .def("memory", &PySolver::memory);
}

}  // namespace sordino::python
