// Timing of all-reduces and messages, for `sordino bench comm`.
#include "convert.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/comm/message_timing.hpp"
#include "sordino/comm/timing.hpp"

namespace sordino::python {
namespace {

Product product_of(const nb::dict& d) {
  Product p;
  if (d.contains("n")) p.n = nb::cast<i64>(d["n"]);
  if (d.contains("commands")) p.commands = nb::cast<int>(d["commands"]);
  if (d.contains("flops")) p.flops = nb::cast<double>(d["flops"]);
  if (d.contains("spread")) p.spread = nb::cast<double>(d["spread"]);
  return p;
}

nb::dict time_all_reduce(const std::string& algorithm, i64 values, int repeats, const nb::dict& options,
                         const nb::object& machine, int reduce_degree, int broadcast_degree, bool by_adapter,
                         const nb::dict& product) {
  Options o;
  update(o, options);
  Machine m = machine_of(machine);
  Product p = product_of(product);
  AllReduceOptions way{algorithm_named(algorithm), reduce_degree, broadcast_degree, by_adapter};
  AllReduceTimes times;
  EngineChoice choice;
  {
    nb::gil_scoped_release release;
    choice = make_engine(o, m);
    way = chosen(way, *choice.engine);
    times = sordino::time_all_reduce(*choice.engine, way, values, repeats, p);
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
  if (p.n == 0) return d;
  d["product_s"] = times.product;
  d["alone_s"] = times.alone;
  d["overlap"] = times.overlap();
  return d;
}

nb::dict time_traffic(const std::string& traffic, i64 bytes, int repeats, const nb::dict& options, const nb::object& machine) {
  Options o;
  update(o, options);
  Machine m = machine_of(machine);
  double seconds = 0;
  EngineChoice choice;
  {
    nb::gil_scoped_release release;
    choice = make_engine(o, m);
    seconds = sordino::time_traffic(*choice.engine, traffic_named(traffic), bytes, repeats);
  }
  nb::dict d;
  d["traffic"] = traffic;
  d["ranks"] = choice.engine->size();
  d["engine"] = choice.engine->name();
  d["transport"] = choice.transport;
  d["seconds"] = seconds;
  return d;
}

}  // namespace

void define_comm(nb::module_& m) {
  using namespace nb::literals;
  m.def("time_all_reduce", &time_all_reduce, "algorithm"_a, "values"_a, "repeats"_a, "options"_a,
        "machine"_a.none() = nb::none(), "reduce_degree"_a = 2, "broadcast_degree"_a = 4, "by_adapter"_a = false,
        "product"_a = nb::dict());
  m.def("time_traffic", &time_traffic, "traffic"_a, "bytes"_a, "repeats"_a, "options"_a, "machine"_a.none() = nb::none());
}

}  // namespace sordino::python
