// The paper's ways to multiply an H-matrix on a GPU, for `sordino bench hmatrix --paper-ways`.
#include "hmatrix.hpp"
#include "sordino/config.hpp"
#if SORDINO_WITH_CUDA
#include "sordino/hmatrix/cuda/paper_ways.hpp"
#endif

namespace sordino::python {
namespace {

#if SORDINO_WITH_CUDA
const hmatrix::HMatrix& real_one(const PyHMatrix& matrix) {
  const hmatrix::HMatrix* real = matrix.matrix<double>();
  if (!real) throw Error(Errc::unsupported, "the paper's ways are of real H-matrices");
  return *real;
}

nb::list measure_batches(const PyHMatrix& matrix, int repeats) {
  const hmatrix::HMatrix& real = real_one(matrix);
  std::vector<hmatrix::PaperBatch> batches;
  {
    nb::gil_scoped_release release;
    batches = hmatrix::measure_paper_batches(real, repeats);
  }
  nb::list all;
  for (const auto& b : batches) {
    nb::dict d;
    d["sort"] = hmatrix::gemv_order_names[std::size_t(b.order)];
    d["batch"] = b.batch;
    d["phase"] = b.phase;
    d["products"] = b.end - b.begin;
    d["rows"] = nb::make_tuple(b.rows_least, b.rows_most);
    d["columns"] = nb::make_tuple(b.columns_least, b.columns_most);
    d["values"] = b.values;
    d["seconds"] = b.seconds;
    all.append(d);
  }
  return all;
}

nb::list measure(const PyHMatrix& matrix, int repeats, const std::string& cublas, int gpus) {
  const hmatrix::HMatrix& real = real_one(matrix);
  std::vector<hmatrix::PaperFigure> figures;
  {
    nb::gil_scoped_release release;
    figures = hmatrix::measure_paper_ways(real, {repeats, cublas, gpus});
  }
  nb::list all;
  for (const auto& f : figures) {
    nb::dict d;
    d["way"] = f.way;
    d["batch"] = f.batch;
    d["sort"] = hmatrix::gemv_order_names[std::size_t(f.order)];
    d["streams"] = f.streams;
    d["gpus"] = f.gpus;
    d["launches"] = f.launches;
    d["samples"] = f.samples;
    d["seconds"] = f.seconds;
    d["difference"] = f.difference;
    d["held_bytes"] = f.bytes;
    d["remark"] = f.remark;
    d["failure"] = f.failure;
    all.append(d);
  }
  return all;
}
#else
nb::list measure_batches(const PyHMatrix&, int) {
  throw Error(Errc::unsupported, "this build has no CUDA: the paper's ways cannot be measured");
}

nb::list measure(const PyHMatrix&, int, const std::string&, int) {
  throw Error(Errc::unsupported, "this build has no CUDA: the paper's ways cannot be measured");
}
#endif

}  // namespace

void define_paper_ways(nb::module_& m) {
  using namespace nb::literals;
  m.def("measure_paper_ways", &measure, "matrix"_a, "repeats"_a, "cublas"_a, "gpus"_a = 1);
  m.def("measure_paper_batches", &measure_batches, "matrix"_a, "repeats"_a);
}

}  // namespace sordino::python
