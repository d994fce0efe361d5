// sordino._core.HMatrix: the matrix of a surface, compressed, and products with it.
#include "sordino/hmatrix/hmatrix.hpp"

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "hmatrix.hpp"
#include "sordino/api/doctor.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/bem/laplace.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"

namespace sordino::python {
namespace {

using namespace hmatrix;
/// [n][columns]
using Columns = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Ctrl-C, and what the callback raises, end the build.
BuildProgress progress_of(const nb::object& tell) {
  return [&tell](double share) {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!tell.is_none()) tell(share);
  };
}

/// In 1/m; NaN where the kernel has none.
double wavenumber_of(const nb::dict& options) {
  return options.contains("wavenumber") ? nb::cast<double>(options["wavenumber"]) : std::nan("");
}

constexpr i64 at_once = i64(1) << 17;  // values that Python is handed

template <class T>
nb::object view(T* values, std::size_t n) {
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(values, {n}), nb::rv_policy::reference);
}

/// Hands over values of a stream that Python fills, `left` of them, some at a time.
class Source {
 public:
  Source(const nb::object& read, i64 left) : read_(read), left_(left) {}
  void take(double* to, i64 count) {
    while (count > 0) {
      if (next_ == i64(held_.size())) refill();
      const i64 some = std::min(count, i64(held_.size()) - next_);
      std::copy_n(held_.data() + next_, some, to);
      next_ += some, to += some, count -= some;
    }
  }

 private:
  void refill() {
    if (left_ == 0) bad_argument("there are fewer values than the ranks say");
    held_.resize(std::size_t(std::min(at_once, left_)));
    left_ -= i64(held_.size());
    next_ = 0;
    read_(view(held_.data(), held_.size()));
  }

  const nb::object& read_;
  i64 left_, next_ = 0;
  std::vector<double> held_;
};

constexpr std::pair<const char*, double Phases::*> phase_names[] = {
    {"trees", &Phases::trees},     {"devices", &Phases::devices},   {"leaves", &Phases::leaves},
    {"waiting", &Phases::waiting}, {"fetching", &Phases::fetching}, {"probes", &Phases::probes}};

Statistics statistics_of(const nb::dict& given) {
  Statistics s;
  s.redone_blocks = nb::cast<i64>(given["redone_blocks"]);
  s.norm = nb::cast<double>(given["norm"]);
  s.compression_error = nb::cast<double>(given["compression_error"]);
  s.error_of_estimate = nb::cast<double>(given["error_of_estimate"]);
  s.seconds = nb::cast<double>(given["seconds"]);
  if (!given.contains("phases")) return s;  // files of before
  for (const auto& [name, seconds] : phase_names) s.phases.*seconds = nb::cast<double>(given["phases"][name]);
  return s;
}

/// What this one of several processes builds; of a process alone it is all.
std::optional<BuildPart> part_of(const nb::dict& options) {
  const MpiReport world = mpi_report();
  if (!options.contains("part") || world.processes == 1) return {};
  const auto asked = nb::cast<nb::dict>(options["part"]);
  const Ranks ranks{world.process, world.processes, nb::cast<int>(asked["ranks"]),
                    distribution(nb::cast<std::string>(asked["distribution"])), nb::cast<std::vector<i64>>(asked["cuts"])};
  return BuildPart{ranks, [](double patience) { return all_processes(patience, "the building of an H-matrix"); }};
}

}  // namespace

BuildOptions options_of(const nb::dict& given) {
  BuildOptions o;
  o.compression.eps = nb::cast<double>(given["eps"]);
  o.compression.approximation = approximation(nb::cast<std::string>(given["compression"]));
  o.compression.recompress = nb::cast<bool>(given["recompress"]);
  o.compression.certify = nb::cast<bool>(given["certify"]);
  o.eta = nb::cast<double>(given["eta"]);
  o.leaf = nb::cast<i32>(given["leaf"]);
  o.threads = nb::cast<int>(given["threads"]);
  if (given.contains("most_rank")) o.compression.most_rank = nb::cast<i32>(given["most_rank"]);
  if (given.contains("gpus")) o.gpus = nb::cast<std::vector<int>>(given["gpus"]);
  if (given.contains("probes")) o.probes = nb::cast<int>(given["probes"]);  // of what was written: they are behind it
  return o;
}

bem::SurfaceView view_of(const Triples<double>& points, const Triples<i64>& triangles) {
  return {points.data(), i64(points.shape(0)), triangles.data(), i64(triangles.shape(0))};
}

template <class Make>
void PyHMatrix::take(const std::string& kernel, const bem::SurfaceView& surface, double wavenumber, const Make& make) {
  auto hold = [&]<class V>(const GeneratorOf<V>& generator) { held_ = Held<V>{make(generator), nullptr}; };
  if (kernel == "laplace")
    hold(bem::Laplace(surface));
  else if (kernel == "helmholtz")
    hold(bem::Helmholtz(surface, wavenumber));
  else
    bad_argument("there is no kernel '" + kernel + "': there are laplace, helmholtz");
}

std::unique_ptr<PyHMatrix> PyHMatrix::stored(Triples<double> points, Triples<i64> triangles, const std::string& kernel,
                                             const nb::dict& options, Array<i32> ranks, const nb::dict& statistics,
                                             const nb::object& read) {
  const BuildOptions o = options_of(options);
  const Outline outline{std::vector<i32>(ranks.data(), ranks.data() + ranks.size()), statistics_of(statistics)};
  Source source(read, nb::cast<i64>(statistics["stored_bytes"]) / i64(sizeof(double)));
  std::unique_ptr<PyHMatrix> made(new PyHMatrix);
  auto make = [&]<class V>(const GeneratorOf<V>& generator) {
    auto take = [&](V* to, i64 count) { source.take(hmatrix::words(to), words_of<V> * count); };
    return std::make_unique<HMatrixOf<V>>(generator.points(), generator.size(), o.eta, o.leaf, outline, take);
  };
  made->take(kernel, view_of(points, triangles), wavenumber_of(options), make);
  return made;
}

void PyHMatrix::values(const nb::object& write) const {
  std::vector<double> held;
  auto flush = [&] {
    if (!held.empty()) write(view(held.data(), held.size()));
    held.clear();
  };
  auto tell = [&]<class V>(const V* from, i64 count) {
    held.insert(held.end(), hmatrix::words(from), hmatrix::words(from) + words_of<V> * count);
    if (i64(held.size()) >= at_once) flush();
  };
  std::visit([&](const auto& h) { h.matrix->write(tell); }, held_);
  flush();
}

PyHMatrix::PyHMatrix(Triples<double> points, Triples<i64> triangles, const std::string& kernel, const nb::dict& options,
                     const nb::object& progress) {
  const BuildOptions o = options_of(options);
  const BuildProgress tell = progress_of(progress);
  const double wavenumber = wavenumber_of(options);
  const std::optional<BuildPart> part = part_of(options);
  const bem::SurfaceView surface = view_of(points, triangles);
  nb::gil_scoped_release release;
  take(kernel, surface, wavenumber, [&]<class V>(const GeneratorOf<V>& generator) {
    return part ? std::make_unique<HMatrixOf<V>>(generator, o, *part, tell)
                : std::make_unique<HMatrixOf<V>>(generator, o, tell);
  });
}

i64 PyHMatrix::size() const {
  return std::visit([](const auto& h) { return h.matrix->size(); }, held_);
}

nb::dict PyHMatrix::statistics() const {
  const Statistics& s = std::visit([](const auto& h) -> const Statistics& { return h.matrix->statistics(); }, held_);
  const i64 value = i64(sizeof(double)) * words();
  nb::dict d;
  d["clusters"] = s.clusters;
  d["low_rank_blocks"] = s.low_rank_blocks;
  d["dense_blocks"] = s.dense_blocks;
  d["nodes"] = s.nodes;
  d["stored_bytes"] = value * s.stored_values;
  d["low_rank_bytes"] = value * s.low_rank_values;
  d["mean_rank"] = s.mean_rank;
  d["max_rank"] = s.largest_rank;
  d["redone_blocks"] = s.redone_blocks;
  d["norm"] = s.norm;
  d["compression_error"] = s.compression_error;
  d["error_of_estimate"] = s.error_of_estimate;
  d["seconds"] = s.seconds;
  nb::dict phases;
  for (const auto& [name, seconds] : phase_names) phases[name] = s.phases.*seconds;
  d["phases"] = phases;
  return d;
}

nb::object PyHMatrix::part() const {
  const Ranks* ranks = std::visit([](const auto& h) { return h.matrix->part(); }, held_);
  if (!ranks) return nb::none();
  nb::dict d;
  d["ranks"] = ranks->of_a_process;
  d["distribution"] = name_of(ranks->how);
  d["cuts"] = ranks->cuts;
  return d;
}

i64 PyHMatrix::held_bytes() const {
  return std::visit([](const auto& h) { return h.matrix->held_bytes(); }, held_);
}

nb::object PyHMatrix::blocks() const {
  std::vector<i64> table;
  auto add = [&](const auto& h) {
    for (const auto& [block, rank, u, v] : h.matrix->leaves())
      table.insert(table.end(), {block.rows.begin, block.rows.end, block.columns.begin, block.columns.end, rank});
  };
  std::visit(add, held_);
  return owned_table(std::move(table), 5);
}

nb::object PyHMatrix::shares(int ranks, const std::string& distributed) const {
  std::vector<i64> table;
  const Distribution how = distribution(distributed);
  auto add = [&](const auto& h) {
    for (const auto& [leaf, rows, rank] : owned_rows(*h.matrix, balance(*h.matrix, ranks), how)) {
      const RowRange columns = leaf->block.columns;
      table.insert(table.end(), {rows.begin, rows.end, columns.begin, columns.end, leaf->rank, rank});
    }
  };
  std::visit(add, held_);
  return owned_table(std::move(table), 6);
}

nb::object PyHMatrix::order() const {
  const auto& order = std::visit([](const auto& h) -> const auto& { return h.matrix->tree().order; }, held_);
  return owned_array(std::vector<i64>(order.begin(), order.end()));
}

nb::object PyHMatrix::diagonal() const {
  auto copy = [this](const auto& h) {
    const auto d = h.matrix->diagonal();
    return std::vector<double>(hmatrix::words(d.data()), hmatrix::words(d.data()) + words() * d.size());
  };
  return owned_array(std::visit(copy, held_));
}

nb::object PyHMatrix::multiply(Columns x, bool transposed) const {
  if (i64(x.shape(0)) != size())
    bad_argument("a vector has " + std::to_string(x.shape(0)) + " rows, and the matrix " + std::to_string(size()));
  const int columns = int(x.shape(1)) / words();
  std::vector<double> y;
  auto product = [&]<class V>(Held<V>& h) {
    std::call_once(multiplied_, [&] { h.product = std::make_unique<HostProductOf<V>>(*h.matrix); });
    std::vector<V> from(x.size() / words_of<V>), to(from.size());  // aligned, as pairs of the caller's may not be
    std::copy_n(x.data(), x.size(), hmatrix::words(from.data()));
    h.product->multiply(from.data(), to.data(), columns, transposed);
    y.assign(hmatrix::words(to.data()), hmatrix::words(to.data()) + x.size());
  };
  {
    nb::gil_scoped_release release;
    std::visit(product, held_);
  }
  return owned_array(std::move(y));
}

void define_hmatrix(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyHMatrix>(m, "HMatrix")
      .def(nb::init<Triples<double>, Triples<i64>, std::string, nb::dict, nb::object>(), "points"_a, "triangles"_a, "kernel"_a,
           "options"_a, "progress"_a.none() = nb::none())
      .def_static("stored", &PyHMatrix::stored, "points"_a, "triangles"_a, "kernel"_a, "options"_a, "ranks"_a, "statistics"_a,
                  "read"_a)
      .def_static(
          "check", [](const nb::dict& options) { require_usable(options_of(options)); }, "options"_a)
      .def("values", &PyHMatrix::values, "write"_a)
      .def("size", &PyHMatrix::size)
      .def("words", &PyHMatrix::words)
      .def("statistics", &PyHMatrix::statistics)
      .def("part", &PyHMatrix::part)
      .def("held_bytes", &PyHMatrix::held_bytes)
      .def("blocks", &PyHMatrix::blocks)
      .def("shares", &PyHMatrix::shares, "ranks"_a, "distribution"_a)
      .def("order", &PyHMatrix::order)
      .def("diagonal", &PyHMatrix::diagonal)
      .def("multiply", &PyHMatrix::multiply, "x"_a, "transposed"_a = false);
}

}  // namespace sordino::python
