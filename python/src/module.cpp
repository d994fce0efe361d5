// sordino._core: what Python sees of the library. Everything a person reads is written in Python.
#include "large.hpp"
#include "sordino/api/doctor.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range_times.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/linalg/large_poisson.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino::python {

const char* commit();  // commit.cpp

void define_boxes(nb::module_& m);             // boxes.cpp
void define_comm(nb::module_& m);              // comm.cpp
void define_comm_gpu(nb::module_& m);          // comm_gpu.cpp
void define_communicator(nb::module_& m);      // communicator.cpp
void define_delays(nb::module_& m);            // delays.cpp
void define_dslash(nb::module_& m);            // dslash.cpp
void define_faults(nb::module_& m);            // faults.cpp
void define_hmatrix(nb::module_& m);           // hmatrix.cpp
void define_hmatrix_model(nb::module_& m);     // hmatrix_model.cpp
void define_hmatrix_products(nb::module_& m);  // hmatrix_products.cpp
void define_paper_trsv(nb::module_& m);        // paper_trsv.cpp
void define_paper_ways(nb::module_& m);        // paper_ways.cpp
void define_matrices(nb::module_& m);          // matrices.cpp
void define_rows(nb::module_& m);              // rows.cpp
void define_solver(nb::module_& m);            // solver.cpp
void define_triangular(nb::module_& m);        // triangular.cpp
void define_incomplete(nb::module_& m);        // incomplete.cpp
void define_triangular_plan(nb::module_& m);   // triangular_plan.cpp

namespace {

nb::tuple poisson_arrays(i64 nx, i64 ny, i64 nz, int stencil, double contrast) {
  LargeCsr A;
  {
    nb::gil_scoped_release release;
    SharedCores all;
    A = large_poisson(nx, ny, nz, stencil, contrast);
  }
  return nb::make_tuple(large_array(std::move(A.indptr)), large_array(std::move(A.indices)), large_array(std::move(A.values)));
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
  for (auto& m : methods()) {
    const char* symmetric = m.complex == Factors::of_numbers ? "symmetric" : "spd";
    all.append(entry(m.name, m.summary, m.needs_spd ? symmetric : "general"));
  }
  return all;
}

nb::list precond_entries() {
  nb::list all;
  all.append(entry("none", "the identity", "general"));
  all.append(entry("jacobi", "the diagonal of A, fused into the solvers' updates", "general"));
  all.append(entry("sqrt-jacobi", "A scaled by the roots of its diagonal, which iterations need not read", "positive"));
  all.append(entry("chebyshev", "a polynomial in A, of a degree: more products, and no sums", "spd"));
  all.append(entry("block-ilu", "incomplete factors of the tiles of a grid: no messages, and no sums", "general"));
  all.append(entry("ic0", "incomplete Cholesky factors of each rank's rows, of any pattern: no messages, and no sums", "spd"));
  all.append(entry("ilu0", "incomplete L and U of each rank's rows, of any pattern: no messages, and no sums", "general"));
  all.append(entry("mg", "a cycle of multigrid for matrices of grids: no sums", "spd"));
  all.append(entry("amg", "a cycle of multigrid by aggregates of rows, of any pattern: no sums", "spd"));
  all.append(entry("block-jacobi", "the inverse of an H-matrix's dense blocks on the diagonal: no sums", "general"));
  return all;
}

nb::dict build_info() {
  BuildInfo b = sordino::build_info();
  nb::dict d;
  d["version"] = b.version;
  d["commit"] = commit();
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

/// Of timed_ranges(): name, count and seconds of each.
nb::list timed() {
  nb::list all;
  for (const RangeTime& range : timed_ranges()) all.append(nb::make_tuple(range.name, range.count, range.seconds));
  return all;
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
  m.def("time_ranges", &sordino::time_ranges);
  m.def("timed_ranges", &py::timed);
  m.def("poisson", &py::poisson_arrays, "nx"_a, "ny"_a, "nz"_a, "stencil"_a, "contrast"_a);
  py::define_boxes(m);
  py::define_comm(m);
  py::define_comm_gpu(m);
  py::define_communicator(m);
  py::define_delays(m);
  py::define_dslash(m);
  py::define_faults(m);
  py::define_hmatrix(m);
  py::define_hmatrix_model(m);
  py::define_hmatrix_products(m);
  py::define_paper_trsv(m);
  py::define_paper_ways(m);
  py::define_matrices(m);
  py::define_rows(m);
  py::define_solver(m);
  py::define_triangular(m);
  py::define_incomplete(m);
  py::define_triangular_plan(m);
}
