// Timing of all-reduces, for `sordino bench comm`.
#include "convert.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/comm/timing.hpp"

namespace sordino::python {
namespace {

nb::dict time_all_reduce(const std::string& algorithm, i64 values, int repeats, const nb::dict& options,
                         const nb::object& machine, int reduce_degree, int broadcast_degree, bool by_adapter) {
  Options o;
  update(o, options);
  Machine m = machine_of(machine);
  AllReduceOptions way{algorithm_named(algorithm), reduce_degree, broadcast_degree, by_adapter};
  AllReduceTimes times;
  EngineChoice choice;
  {
    nb::gil_scoped_release release;
    choice = make_engine(o, m);
    way = chosen(way, *choice.engine);
    times = sordino::time_all_reduce(*choice.engine, way, values, repeats);
  }
  nb::dict d;
  d["algorithm"] = name(way.algorithm);
  d["reproducible"] = reproducible(way.algorithm);
  d["ranks"] = choice.engine->size();
  d["engine"] = choice.engine->name();
  d["transport"] = choice.transport;
  d["post_s"] = times.post;
  d["wait_s"] = times.wait;
  d["total_s"] = times.total;
  return d;
}

}  // namespace

void define_comm(nb::module_& m) {
  using namespace nb::literals;
  m.def("time_all_reduce", &time_all_reduce, "algorithm"_a, "values"_a, "repeats"_a, "options"_a,
        "machine"_a.none() = nb::none(), "reduce_degree"_a = 2, "broadcast_degree"_a = 4, "by_adapter"_a = false);
}

}  // namespace sordino::python
