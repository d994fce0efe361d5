// The model of paper 004's triangular solver on imitations of its matrices, for `sordino bench papers --what 004`.
#include <algorithm>

#include "convert.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/paper_imitations.hpp"
#include "sordino/trsv/paper_model.hpp"

namespace sordino::python {
namespace {

namespace paper = trsv::paper;

/// Predictions for 1, ..., most_gpus GPUs of Summit.
nb::list scaling_dicts(const std::string& name, int most_gpus, u64 seed) {
  const auto m = std::ranges::find(paper::imitations(), name, &paper::Imitation::name);
  if (m == paper::imitations().end()) bad_argument("there is no imitation of a matrix '" + name + "'");
  std::vector<paper::Scaling> all;
  {
    nb::gil_scoped_release release;
    all = paper::scaling(paper::pattern_of(*m, seed), paper::summit(), most_gpus);
  }
  nb::list list;
  for (const paper::Scaling& s : all) {
    nb::dict d;
    d["shape"] = paper::shape_names[std::size_t(s.shape)];
    d["rows"] = s.grid.rows;
    d["columns"] = s.grid.columns;
    d["seconds"] = s.prediction.seconds;
    d["computing"] = s.prediction.computing;
    d["communicating"] = s.prediction.communicating;
    d["messages"] = s.prediction.messages;
    d["levels"] = s.prediction.levels;
    d["refined"] = s.prediction.refined;
    list.append(d);
  }
  return list;
}

}  // namespace

void define_paper_trsv(nb::module_& m) {
  using namespace nb::literals;
  m.def("paper_trsv_scaling", &scaling_dicts, "name"_a, "most_gpus"_a, "seed"_a);
}

}  // namespace sordino::python
