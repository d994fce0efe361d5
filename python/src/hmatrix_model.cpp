// sordino._core.HMatrixOutline: the structure of a surface's matrix, and iterations on it where nothing is computed.
#include <algorithm>
#include <memory>

#include "hmatrix.hpp"
#include "sordino/api/modelled_hmatrix.hpp"
#include "sordino/bem/laplace.hpp"
#include "sordino/hmatrix/gemv_batches.hpp"
#include "sordino/hmatrix/leaf_ranks.hpp"

namespace sordino::python {
namespace {

using namespace hmatrix;
/// Of Laplace's kernel.
class PyOutline {
 public:
  PyOutline(Triples<double> points, Triples<i64> triangles, const nb::dict& given, int every) {
    const BuildOptions options = options_of(given);
    const bem::SurfaceView surface = view_of(points, triangles);
    nb::gil_scoped_release release;
    const bem::Laplace laplace(surface);
    matrix_ = std::unique_ptr<HMatrix>(new HMatrix(without_values(laplace, options, leaf_ranks(laplace, options, every))));
  }

  nb::dict statistics() const {
    const Statistics& s = matrix_->statistics();
    nb::dict d;
    d["rows"] = matrix_->size();
    d["low_rank_blocks"] = s.low_rank_blocks;
    d["dense_blocks"] = s.dense_blocks;
    d["stored_values"] = s.stored_values;
    d["mean_rank"] = s.mean_rank;
    return d;
  }

  /// Of dense blocks and V, and of U: [products][2], rows and columns in the order of that name.
  nb::list gemvs(const std::string& order) const {
    const auto named = std::ranges::find(gemv_order_names, order);
    if (named == gemv_order_names.end()) bad_argument("there is no order '" + order + "': there are none, rows, groups");
    const GemvBatches plan(*matrix_, {.order = GemvOrder(named - gemv_order_names.begin()), .count = 1});
    nb::list phases;
    for (const GemvPhase& phase : plan.phases) {
      std::vector<i64> sizes;
      for (const Gemv& g : phase.gemvs) sizes.insert(sizes.end(), {g.rows, g.columns});
      phases.append(owned_table(std::move(sizes), 2));
    }
    return phases;
  }

  nb::list iterations(const std::string& method, bool fallen_back, bool at_once, int ranks, const nb::object& machine,
                      const std::string& distributed, int group, const std::string& vectors, int count) const {
    ModelledMethod of{method, fallen_back, at_once, ranks, machine_of(machine), distribution(distributed), group};
    if (vectors != "auto") of.vectors = vectors == "redundant" ? WholeVectors::redundant : WholeVectors::hierarchical;
    std::vector<Ledger> ledgers;
    {
      nb::gil_scoped_release release;
      ledgers = modelled_iterations(*matrix_, of, count);
    }
    nb::list all;
    for (const Ledger& l : ledgers) all.append(an_iteration(l, count));
    return all;
  }

 private:
  static nb::dict an_iteration(const Ledger& l, int count) {
    const double each = 1.0 / count;
    nb::dict commands, d;
    for (const auto& [name, kernel] : l.kernels)
      if (kernel.calls > 0) commands[name.c_str()] = kernel.bytes * each;
    d["seconds"] = l.time * each;
    d["commands"] = double(l.commands) * each;
    d["command_bytes"] = commands;
    d["messages"] = double(l.messages) * each;
    d["memory_bytes"] = l.memory_bytes * each;
    d["flops"] = l.flops * each;
    d["bytes_sent"] = double(l.bytes_sent) * each;
    d["reductions"] = double(l.reductions) * each;
    d["exposed_reduction_s"] = l.exposed_reduction * each;
    d["exposed_halo_s"] = l.exposed_halo * each;
    d["imbalance_s"] = l.imbalance * each;
    return d;
  }

  std::unique_ptr<HMatrix> matrix_;
};

}  // namespace

void define_hmatrix_model(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyOutline>(m, "HMatrixOutline")
      .def(nb::init<Triples<double>, Triples<i64>, nb::dict, int>(), "points"_a, "triangles"_a, "options"_a, "every"_a)
      .def("statistics", &PyOutline::statistics)
      .def("gemvs", &PyOutline::gemvs, "order"_a)
      .def("iterations", &PyOutline::iterations, "method"_a, "fallen_back"_a, "at_once"_a, "ranks"_a, "machine"_a.none(),
           "distribution"_a, "group"_a, "vectors"_a, "count"_a);
}

}  // namespace sordino::python
