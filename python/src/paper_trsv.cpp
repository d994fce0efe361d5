// The model of paper 004's triangular solver on imitations of its matrices, for `sordino bench papers --what 004`, and on
// factors of a user's, for `sordino predict trsv --algorithm paper`.
#include <algorithm>

#include <nanobind/stl/pair.h>

#include "convert.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/paper_imitations.hpp"
#include "sordino/trsv/paper_model.hpp"
#include "sordino/trsv/paper_steps.hpp"

namespace sordino::python {
namespace {

namespace paper = trsv::paper;

nb::dict dict_of(const paper::Grid& grid, const paper::Prediction& p) {
  nb::dict d;
  d["rows"] = grid.rows;
  d["columns"] = grid.columns;
  d["seconds"] = p.seconds;
  d["computing"] = p.computing;
  d["communicating"] = p.communicating;
  d["messages"] = p.messages;
  d["broadcasts"] = p.broadcasts;
  d["reductions"] = p.reductions;
  d["levels"] = p.levels;
  d["refined"] = p.refined;
  return d;
}

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
    nb::dict d = dict_of(s.grid, s.prediction);
    d["shape"] = paper::shape_names[std::size_t(s.shape)];
    list.append(d);
  }
  return list;
}

/// Of a triangle's pattern, by columns, in blocks of up to `width` columns: what Algorithm 2 says of each direction on each
/// grid of ranks, on Summit as the paper has it, or on a described machine; and, as `by_steps`, what Algorithm 1's steps take
/// on that machine. Refuses grids of more ranks than block columns, or, unless `all`, leaves them out.
nb::dict layout_dicts(Array<i64> begin, Array<i32> rows, const std::vector<std::string>& directions, i32 width, bool summit,
                      const nb::object& machine, const std::vector<std::pair<int, int>>& layouts, bool all, i64 value_bytes) {
  if (begin.size() < 2 || begin.data()[begin.size() - 1] != i64(rows.size()))
    bad_argument("the arrays of a triangle do not belong together");
  const Machine described = machine_of(machine);
  validate(described);
  const paper::Cluster cluster = summit ? paper::summit() : paper::cluster_of(described);
  std::vector<paper::Grid> grids;
  std::vector<std::vector<paper::Prediction>> found;
  std::vector<std::vector<double>> by_steps;
  i32 columns = 0;
  {
    nb::gil_scoped_release release;
    const paper::Pattern pattern =
        paper::pattern_of(trsv::find_supernodes({i64(begin.size()) - 1, begin.data(), rows.data()}), width);
    columns = pattern.count();
    for (const auto& [P, Q] : layouts) {
      const paper::Grid grid{P, Q};
      if (all && grid.ranks() > columns)
        bad_argument("there are more ranks, " + std::to_string(grid.ranks()) + ", than the triangle has block columns, " +
                     std::to_string(columns));
      if (grid.ranks() <= columns) grids.push_back(grid);
    }
    for (const std::string& direction : directions) {
      const paper::Pattern of_direction = direction == "forward" ? pattern : paper::transposed(pattern);
      found.push_back(paper::predict(of_direction, grids, cluster));
      std::vector<double>& seconds = by_steps.emplace_back();
      for (const paper::Grid& grid : grids)
        seconds.push_back(predict_steps(of_direction, lay_out(of_direction, grid), described, value_bytes).seconds);
    }
  }
  nb::list of_directions;
  for (std::size_t way = 0; way < found.size(); way++) {
    nb::list list;
    for (std::size_t k = 0; k < grids.size(); k++) {
      nb::dict one = dict_of(grids[k], found[way][k]);
      one["by_steps"] = by_steps[way][k];
      list.append(one);
    }
    of_directions.append(list);
  }
  nb::dict d;
  d["block_columns"] = columns;
  d["predicted"] = of_directions;
  return d;
}

}  // namespace

void define_paper_trsv(nb::module_& m) {
  using namespace nb::literals;
  m.def("paper_trsv_scaling", &scaling_dicts, "name"_a, "most_gpus"_a, "seed"_a);
  m.def("paper_trsv_layouts", &layout_dicts, "begin"_a, "rows"_a, "directions"_a, "width"_a, "summit"_a, "machine"_a,
        "layouts"_a, "all"_a, "value_bytes"_a);
}

}  // namespace sordino::python
