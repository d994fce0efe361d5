// What messages between GPUs cost, for `sordino bench comm --engine cuda`.
#include "convert.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/api/cuda/engines.hpp"
#include "sordino/comm/cuda/measure.hpp"
#endif
#if SORDINO_WITH_MPI
#include "sordino/comm/transport/mpi_processes.hpp"
#endif

namespace sordino::python {
namespace {

#if SORDINO_WITH_CUDA
constexpr double patience = 60;  // seconds, with other processes

std::vector<std::string> measurements(bool by_any_way) {
  return cuda::comm_measurements(number_of_processes() > 1, by_any_way);
}

nb::list measure(const std::string& name, const std::string& devices, const std::vector<int>& ranks, i64 epochs,
                 const std::string& nccl, const std::string& transport) {
  cuda::CommPlan plan{parse_devices(devices), ranks, epochs};
  plan.nccl = nccl;
  plan.links = cuda::links_of(transport);
  plan.staging = cuda::staging_of(transport);
  plan.apart = cuda::parts_processes(transport);
  std::vector<cuda::CommFigure> figures;
  {
    nb::gil_scoped_release release;
    std::unique_ptr<Processes> processes;
#if SORDINO_WITH_MPI
    processes = mpi::processes(patience);
#endif
    plan.processes = processes.get();
    figures = cuda::measure_comm(name, plan);
  }
  nb::list all;
  for (auto& f : figures) {
    nb::dict d;
    d["what"] = f.what;
    d["way"] = f.way;
    d["ranks"] = f.ranks;
    d["bytes"] = f.bytes;
    d["samples"] = f.samples;
    d["median_s"] = f.median;
    d["p99_s"] = f.p99;
    d["bytes_per_s"] = f.bandwidth;
    d["violations"] = f.violations;
    d["remark"] = f.remark;
    all.append(d);
  }
  return all;
}
#else
std::vector<std::string> measurements(bool) { return {}; }

nb::list measure(const std::string&, const std::string&, const std::vector<int>&, i64, const std::string&, const std::string&) {
  throw Error(Errc::unsupported, "this build has no CUDA: communication of GPUs cannot be measured");
}
#endif

}  // namespace

void define_comm_gpu(nb::module_& m) {
  using namespace nb::literals;
  m.def("comm_measurements", &measurements, "by_any_way"_a = false);
  m.def("measure_comm", &measure, "name"_a, "devices"_a, "ranks"_a, "epochs"_a, "nccl"_a, "transport"_a = "auto");
}

}  // namespace sordino::python
