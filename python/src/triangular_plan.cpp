// A plan of a triangular solve as a described machine carries it out, task by task, for pictures.
#include "convert.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/model_solve.hpp"

namespace sordino::python {
namespace {

/// What `of` says of each.
template <class T, class Items, class Of>
nb::object each(const Items& items, const Of& of) {
  std::vector<T> values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(T(of(item)));
  return owned_array(std::move(values));
}

nb::dict described(const trsv::Blocks& blocks, const trsv::Plan& plan, const trsv::ModelReport& report) {
  nb::dict d;
  d["seconds"] = report.seconds;
  d["columns"] = each<i32>(blocks.blocks, [](const trsv::Block& b) { return b.column; });
  d["widths"] = each<i32>(blocks.blocks, [](const trsv::Block& b) { return b.width; });
  d["fronts"] = each<i32>(blocks.blocks, [](const trsv::Block& b) { return b.front; });
  std::vector<i32> rows;
  for (const trsv::Block& b : blocks.blocks)
    rows.insert(rows.end(), blocks.rows.begin() + b.rows, blocks.rows.begin() + b.rows + b.front);
  d["rows"] = owned_array(std::move(rows));
  d["owners"] = each<i32>(plan.owner, [](i32 rank) { return rank; });
  d["kinds"] = each<i32>(plan.tasks, [](const trsv::Task& t) { return i32(t.kind); });
  d["blocks"] = each<i32>(plan.tasks, [](const trsv::Task& t) { return t.block; });
  d["ranks"] = each<i32>(plan.tasks, [](const trsv::Task& t) { return t.rank; });
  d["taken"] = each<double>(report.tasks, [](const trsv::TaskSeconds& t) { return t.taken; });
  d["ready"] = each<double>(report.tasks, [](const trsv::TaskSeconds& t) { return t.ready; });
  d["begin"] = each<double>(report.tasks, [](const trsv::TaskSeconds& t) { return t.begin; });
  d["end"] = each<double>(report.tasks, [](const trsv::TaskSeconds& t) { return t.end; });
  d["last_needs"] = each<i32>(report.tasks, [](const trsv::TaskSeconds& t) { return t.last_need; });
  return d;
}

/// Of a triangle's pattern, by columns, one right-hand side.
nb::dict modelled_plan(Array<i64> begin, Array<i32> rows, const std::string& direction, i64 value_bytes, i32 width,
                       const nb::object& machine, int ranks) {
  if (begin.size() < 2 || begin.data()[begin.size() - 1] != i64(rows.size()))
    bad_argument("the arrays of a triangle do not belong together");
  const trsv::Direction way = direction == "forward" ? trsv::Direction::forward : trsv::Direction::backward;
  trsv::ModelOptions options = trsv::model_options(machine_of(machine), way);
  options.traced = true;
  trsv::Blocks blocks;
  trsv::Plan plan;
  trsv::ModelReport report;
  {
    nb::gil_scoped_release release;
    blocks = trsv::cut(trsv::find_supernodes({i64(begin.size()) - 1, begin.data(), rows.data()}), width);
    if (ranks > blocks.count())
      bad_argument("there are more ranks, " + std::to_string(ranks) + ", than the triangle has blocks, " +
                   std::to_string(blocks.count()));
    plan = trsv::make_plan(blocks, way, value_bytes, {.ranks = ranks});
    report = trsv::model_solve(blocks, plan, value_bytes, options);
  }
  return described(blocks, plan, report);
}

}  // namespace

void define_triangular_plan(nb::module_& m) {
  using namespace nb::literals;
  m.def("modelled_plan", &modelled_plan, "begin"_a, "rows"_a, "direction"_a, "value_bytes"_a, "width"_a, "machine"_a,
        "ranks"_a);
}

}  // namespace sordino::python
