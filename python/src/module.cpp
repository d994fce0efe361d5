// sordino._core: what Python sees of the library. Everything a person reads is written in Python.
#include "convert.hpp"
#include "sordino/api/doctor.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino::python {

void define_comm(nb::module_& m);          // comm.cpp
void define_comm_gpu(nb::module_& m);      // comm_gpu.cpp
void define_communicator(nb::module_& m);  // communicator.cpp
void define_dslash(nb::module_& m);        // dslash.cpp
void define_faults(nb::module_& m);        // faults.cpp

namespace {

/// A solver and the arrays it views.
class PySolver {
 public:
  PySolver(Array<i64> indptr, Array<i32> indices, Array<double> data, i64 n, const nb::dict& options, const nb::object& machine)
      : indptr_(indptr), indices_(indices), data_(data), n_(n) {
    if (i64(indptr.size()) != n + 1 || indices.size() != data.size() || (n > 0 && indptr.data()[n] != i64(data.size())))
      bad_argument("the CSR arrays do not belong together");
    Options o;
    update(o, options);
    Machine m = machine_of(machine);
    nb::gil_scoped_release release;
    solver_ = std::make_unique<Solver>(CsrView{n, indptr.data(), indices.data(), data.data()}, o, m);
  }

  nb::dict solve(Array<double> b, const nb::object& x0, const nb::object& progress, const nb::dict& options) {
    size_matches(b, "the right-hand side");
    const double* start = nullptr;
    Array<double> first;
    if (!x0.is_none()) {
      first = nb::cast<Array<double>>(x0);
      size_matches(first, "x0");
      start = first.data();
    }
    Options kept = solver_->options();
    update(solver_->options(), options);
    std::vector<double> x(static_cast<std::size_t>(n_));
    auto look_up = [&](int iteration, double residual) {
      nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) {  // Ctrl-C: the solve ends with the best x, and says so
        PyErr_Clear();
        solver_->stop(Status::interrupted);
      }
      return !progress.is_none() && nb::cast<bool>(nb::bool_(progress(iteration, residual)));
    };
    Report report;
    {
      nb::gil_scoped_release release;
      report = solver_->solve(b.data(), x.data(), start, look_up);
    }
    solver_->options() = kept;
    bool root = solver_->first_rank() == 0;
    nb::dict d = report_dict(report, root ? owned_array(std::move(x)) : nb::none());
    d["setup_seconds"] = solver_->setup_seconds();
    d["solver"] = solver_->method();
    d["precond"] = solver_->preconditioner();
    d["engine"] = solver_->engine();
    d["transport"] = solver_->transport();
    d["ranks"] = solver_->ranks();
    return d;
  }

  void update_values(Array<double> data) {
    if (data.size() != data_.size()) bad_argument("the new values are not as many as the matrix has entries");
    {
      nb::gil_scoped_release release;
      solver_->update_values(data.data());
    }
    data_ = data;
  }

  double time_product(int pairs) {
    nb::gil_scoped_release release;
    return solver_->time_product(pairs);
  }

  nb::dict memory() const {
    nb::dict d;
    d["bytes_per_rank"] = solver_->memory();
    d["first_rank"] = solver_->first_rank();
    return d;
  }

 private:
  void size_matches(const Array<double>& v, const char* what) const {
    if (i64(v.size()) != n_)
      bad_argument(std::string(what) + " has " + std::to_string(v.size()) + " entries, the matrix " + std::to_string(n_) +
                   " rows");
  }

  Array<i64> indptr_;
  Array<i32> indices_;
  Array<double> data_;
  i64 n_;
  std::unique_ptr<Solver> solver_;
};

nb::tuple poisson_arrays(i64 nx, i64 ny, i64 nz, int stencil, double contrast) {
  CsrMatrix A;
  {
    nb::gil_scoped_release release;
    A = poisson(nx, ny, nz, stencil, contrast);
  }
  return nb::make_tuple(owned_array(std::move(A.indptr)), owned_array(std::move(A.indices)), owned_array(std::move(A.values)));
}

nb::dict entry(const std::string& name, const std::string& summary, const std::string& requires_matrix) {
  nb::dict d;
  d["name"] = name;
  d["summary"] = summary;
  d["requires"] = requires_matrix;
  d["contract"] = "";
  return d;
}

nb::list solver_entries() {
  nb::list all;
  for (auto& m : methods()) all.append(entry(m.name, m.summary, m.needs_spd ? "spd" : "general"));
  return all;
}

nb::list precond_entries() {
  nb::list all;
  all.append(entry("none", "the identity", "general"));
  all.append(entry("jacobi", "the diagonal of A, fused into the solvers' updates", "general"));
  return all;
}

nb::dict build_info() {
  BuildInfo b = sordino::build_info();
  nb::dict d;
  d["version"] = b.version;
  d["cuda"] = b.cuda;
  d["cuda_version"] = b.cuda_version;
  d["cuda_architectures"] = b.cuda_architectures;
  d["mpi"] = b.mpi;
  d["mpi_library"] = b.mpi_library;
  d["compiler"] = b.compiler;
  return d;
}

nb::dict devices() {
  DeviceReport r = sordino::device_report();
  nb::dict d;
  nb::list list;
  for (auto& g : r.devices) {
    nb::dict e;
    e["name"] = g.name;
    e["memory_total"] = g.memory_total;
    e["capability"] = g.capability;
    list.append(e);
  }
  d["devices"] = list;
  d["peer_access"] = r.peer_access;
  d["peer_atomics"] = r.peer_atomics;
  d["reason"] = r.reason;
  return d;
}

nb::dict mpi_world() {
  MpiReport m = sordino::mpi_report();
  nb::dict d;
  d["initialized"] = m.initialized;
  d["rank"] = m.process;
  d["size"] = m.processes;
  d["reason"] = m.reason;
  d["gpu_aware"] = m.gpu_aware ? nb::cast(*m.gpu_aware) : nb::none();
  d["threads"] = m.threads;
  d["serialized"] = m.serialized;
  return d;
}

}  // namespace
}  // namespace sordino::python

NB_MODULE(_core, m) {
  namespace py = sordino::python;
  namespace nb = nanobind;
  using namespace nb::literals;
  static PyObject* error = PyErr_NewException("sordino._core.Error", nullptr, nullptr);
  m.attr("Error") = nb::borrow(error);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const sordino::Error& e) {
      nb::object raised = nb::borrow(error)(e.what());
      nb::setattr(raised, "code", nb::cast(std::string(sordino::name(e.code()))));
      for (auto [name, value] : py::cause_dict(e.cause())) nb::setattr(raised, name, value);
      PyErr_SetObject(error, raised.ptr());
    }
  });
  m.def("options", &py::option_dicts);
  m.def("solvers", &py::solver_entries);
  m.def("preconditioners", &py::precond_entries);
  m.def("build_info", &py::build_info);
  m.def("devices", &py::devices);
  m.def("mpi", &py::mpi_world);
  m.def("poisson", &py::poisson_arrays, "nx"_a, "ny"_a, "nz"_a, "stencil"_a, "contrast"_a);
  py::define_comm(m);
  py::define_comm_gpu(m);
  py::define_communicator(m);
  py::define_dslash(m);
  py::define_faults(m);
  nb::class_<py::PySolver>(m, "Solver")
      .def(nb::init<py::Array<sordino::i64>, py::Array<sordino::i32>, py::Array<double>, sordino::i64, nb::dict, nb::object>(),
           "indptr"_a, "indices"_a, "data"_a, "n"_a, "options"_a, "machine"_a.none() = nb::none())
      .def("solve", &py::PySolver::solve, "b"_a, "x0"_a.none() = nb::none(), "progress"_a.none() = nb::none(),
           "options"_a = nb::dict())
      .def("update_values", &py::PySolver::update_values, "data"_a)
      .def("time_product", &py::PySolver::time_product, "pairs"_a)
      .def("memory", &py::PySolver::memory);
}
