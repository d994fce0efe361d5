// sordino._core.Triangle: a sparse triangular factor, and solves with it.
#include "sordino/api/triangular.hpp"

#include <complex>
#include <cstring>
#include <tuple>
#include <variant>

#include <nanobind/stl/pair.h>

#include "large.hpp"
#include "sordino/base/error.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/sorted_columns.hpp"
#include "sordino/trsv/width_choice.hpp"

namespace sordino::python {
namespace {

using trsv::How;
using trsv::Number;

/// float32, float64 or complex128
using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
/// [n][columns] of a GPU, given as a capsule of DLPack
using GpuColumns = nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cuda>;

template <class V>
struct Named {
  using Type = V;
};
template <>
struct Named<Number> {
  using Type = std::complex<double>;
};

How how_of(const std::string& trans) {
  if (trans == "N") return How::plain;
  if (trans == "T") return How::transposed;
  if (trans == "H") return How::adjoint;
  bad_argument("trans is N, T or H, not '" + trans + "'");
}

/// An array's numbers as V, copied where a pair would not be aligned.
template <class V>
class Numbers {
 public:
  template <class Array>
  explicit Numbers(const Array& a) {
    if (a.dtype() != nb::dtype<typename Named<V>::Type>()) bad_argument("an array has another type than the triangle");
    begin_ = static_cast<const V*>(a.data());
    if (std::uintptr_t(begin_) % alignof(V) == 0) return;
    copy_.resize(a.size());
    std::memcpy(static_cast<void*>(copy_.data()), a.data(), a.size() * sizeof(V));
    begin_ = copy_.data();
  }
  const V* begin() const { return begin_; }

 private:
  const V* begin_;
  std::vector<V> copy_;
};

/// [n][columns]
template <class V>
nb::object handed_over(std::vector<V>&& values, std::size_t n) {
  auto* v = new std::vector<V>(std::move(values));
  nb::capsule owner(v, [](void* p) noexcept { delete static_cast<std::vector<V>*>(p); });
  using Type = typename Named<V>::Type;
  return nb::cast(nb::ndarray<nb::numpy, Type, nb::ndim<2>>(static_cast<void*>(v->data()), {n, v->size() / n}, owner));
}

/// The array of this name, whose numbers must be of this type.
template <class T>
std::vector<T> array_of(const nb::dict& arrays, const std::string& name) {
  using Any = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  Any found;
  if (!arrays.contains(name.c_str()) || !nb::try_cast(arrays[name.c_str()], found) || found.dtype() != nb::dtype<T>())
    bad_argument("the plans lack the array " + name + ", or it is of another type: make new plans, and save them");
  std::vector<T> copy(found.size());
  if (!copy.empty()) std::memcpy(copy.data(), found.data(), copy.size() * sizeof(T));
  return copy;
}

trsv::SavedPlans plans_of(const nb::dict& arrays) {
  trsv::SavedPlans plans;
  trsv::each_array(plans, [&]<class T>(const std::string& name, std::vector<T>& to) { to = array_of<T>(arrays, name); });
  plans.nodes.n = i64(plans.nodes.order.size());
  return plans;
}

TriangularOptions options_of(const nb::dict& given) {
  TriangularOptions o;
  o.engine = nb::cast<std::string>(given["engine"]);
  o.devices = nb::cast<std::string>(given["devices"]);
  o.blocks = nb::cast<int>(given["blocks"]);
  o.ranks = nb::cast<int>(given["ranks"]);
  o.threads = nb::cast<int>(given["threads"]);
  o.choose_width = nb::cast<i32>(given["width"]) == 0;
  if (!o.choose_width) o.width = nb::cast<i32>(given["width"]);
  o.algorithm = nb::cast<std::string>(given["algorithm"]);
  std::tie(o.layout_rows, o.layout_columns) = nb::cast<std::pair<int, int>>(given["layout"]);
  o.timeout = nb::cast<double>(given["timeout"]);
  o.machine = machine_of(given["machine"]);
  o.seed = nb::cast<u64>(given["seed"]);
  return o;
}

/// Keeps the arrays that it was made of: refining and backward errors go by them.
class PyTriangle {
  template <class V>
  struct Held {
    std::unique_ptr<Numbers<V>> given;
    std::unique_ptr<TriangularSolver<V>> solver;
  };

  template <class V>
  trsv::TriangleView<V> view_of(const Held<V>& held) const {
    return {{i64(begin_.size()) - 1, begin_.data(), rows_.data()}, held.given->begin(), unit_};
  }

  template <class Array>
  void check_rows(const Array& b) const {
    if (b.shape(0) != begin_.size() - 1 || b.shape(1) < 1)
      bad_argument("b has " + std::to_string(b.shape(0)) + " rows, and the triangle " + std::to_string(begin_.size() - 1));
  }

  /// do(held, numbers of b, columns)
  template <class Do>
  auto with(const Columns& b, const Do& act) {
    check_rows(b);
    return std::visit(
        [&]<class V>(Held<V>& held) {
          const Numbers<V> from(b);
          return act(held, from.begin(), i64(b.shape(1)));
        },
        held_);
  }
  template <class Array>
  static void check_same(const Array& b, const Array& x) {
    if (x.shape(0) != b.shape(0) || x.shape(1) != b.shape(1)) bad_argument("x and b have different shapes");
  }

 public:
  PyTriangle(Array<i64> begin, Array<i32> rows, Values values, bool unit, const nb::dict& options)
      : begin_(std::move(begin)), rows_(std::move(rows)), values_(std::move(values)), unit_(unit) {
    TriangularOptions o = options_of(options);
    trsv::SavedPlans plans;
    if (!options["plans"].is_none()) o.plans = &(plans = plans_of(nb::cast<nb::dict>(options["plans"])));
    if (begin_.size() < 1 || begin_.data()[begin_.size() - 1] != i64(rows_.size()) || rows_.size() != values_.size())
      bad_argument("the arrays of a triangle do not belong together");
    auto make = [&]<class V>(Held<V> held) {
      held.given = std::make_unique<Numbers<V>>(values_);
      const auto view = view_of(held);
      nb::gil_scoped_release release;
      held.solver = std::make_unique<TriangularSolver<V>>(view, o);
      held_ = std::move(held);
    };
    if (values_.dtype() == nb::dtype<float>())
      make(Held<float>{});
    else if (values_.dtype() == nb::dtype<double>())
      make(Held<double>{});
    else
      make(Held<Number>{});
  }
  ~PyTriangle() {  // solves may be under way, behind what a thread that wants the interpreter is to do
    nb::gil_scoped_release release;
    std::visit([](auto& held) { held.solver.reset(); }, held_);
  }

  nb::object solve(Columns b, const std::string& trans) {
    const How how = how_of(trans);
    return with(b, [&]<class V>(Held<V>& held, const V* from, i64 columns) {
      std::vector<V> x(b.size());
      {
        nb::gil_scoped_release release;
        held.solver->solve(from, x.data(), columns, how);
      }
      return handed_over(std::move(x), b.shape(0));
    });
  }

  /// Into x, which lies where b does, in a stream of that GPU, given by its address. Whether x is finite, if it `waits`.
  bool solve_there(GpuColumns b, GpuColumns x, const std::string& trans, std::uintptr_t stream, bool waits) {
    const How how = how_of(trans);
    check_rows(b);
    check_same(b, x);
    return std::visit(
        [&]<class V>(Held<V>& held) {
          for (const GpuColumns* a : {&b, &x})
            if (a->dtype() != nb::dtype<typename Named<V>::Type>() || std::uintptr_t(a->data()) % alignof(V) != 0)
              bad_argument("an array has another type, or alignment, than the triangle");
          nb::gil_scoped_release release;
          return held.solver->solve_there(static_cast<const V*>(b.data()), static_cast<V*>(x.data()), i64(b.shape(1)), how,
                                          {.stream = reinterpret_cast<void*>(stream), .waits = waits});
        },
        held_);
  }
  void settle() {
    nb::gil_scoped_release release;
    std::visit([](auto& held) { held.solver->settle(); }, held_);
  }

  nb::tuple refine(Columns b, Columns x, const std::string& trans, int most_steps) {
    const How how = how_of(trans);
    return with(b, [&]<class V>(Held<V>& held, const V* from, i64 columns) {
      check_same(b, x);
      const Numbers<V> first(x);
      std::vector<V> better(first.begin(), first.begin() + x.size());
      Refinement done;
      {
        nb::gil_scoped_release release;
        done = held.solver->refine(view_of(held), from, better.data(), columns, how, most_steps);
      }
      return nb::make_tuple(handed_over(std::move(better), b.shape(0)), done.errors);
    });
  }

  int refinements_wanted(const std::string& trans) {
    const How how = how_of(trans);
    auto ask = [&]<class V>(Held<V>& held) {
      const auto view = view_of(held);
      nb::gil_scoped_release release;
      return held.solver->refinements_wanted(view, how);
    };
    return std::visit(ask, held_);
  }

  std::vector<double> backward_errors(Columns b, Columns x, const std::string& trans) {
    const How how = how_of(trans);
    return with(b, [&]<class V>(Held<V>& held, const V* from, i64 columns) {
      check_same(b, x);
      const Numbers<V> of(x);
      nb::gil_scoped_release release;
      return trsv::backward_errors(view_of(held), how, from, of.begin(), columns);
    });
  }

  void update(Values values) {
    if (values.size() != values_.size()) bad_argument("the triangle has another number of entries");
    auto take = [&]<class V>(Held<V>& held) {
      auto given = std::make_unique<Numbers<V>>(values);
      trsv::TriangleView<V> view = view_of(held);
      view.values = given->begin();
      {
        nb::gil_scoped_release release;
        held.solver->update(view);
      }
      held.given = std::move(given);
      values_ = std::move(values);
    };
    std::visit(take, held_);
  }

  nb::dict plans() const {
    trsv::SavedPlans all = std::visit([](const auto& held) { return held.solver->saved_plans(); }, held_);
    nb::dict arrays;
    trsv::each_array(
        all, [&]<class T>(const std::string& name, std::vector<T>& of) { arrays[name.c_str()] = owned_array(std::move(of)); });
    return arrays;
  }

  nb::dict statistics() const {
    const TriangularStatistics s = std::visit([](const auto& held) { return held.solver->statistics(); }, held_);
    nb::dict d;
    d["n"] = s.n;
    d["entries"] = s.entries;
    d["by_rows"] = s.by_rows;
    d["stored_entries"] = s.stored_entries;
    d["stored_bytes"] = s.stored_bytes;
    d["memory_bytes"] = s.memory_bytes;
    d["blocks"] = s.blocks;
    d["longest_chain"] = s.longest_chain;
    d["forward_tasks"] = s.forward_tasks;
    d["backward_tasks"] = s.backward_tasks;
    d["ranks"] = s.ranks;
    d["forward_ranks"] = s.forward_ranks;
    d["backward_ranks"] = s.backward_ranks;
    const char* between = s.forward_reason.empty() || s.backward_reason.empty() ? "" : "; ";
    d["ranks_reason"] = s.forward_reason + between + s.backward_reason;
    d["growth"] = s.growth;
    d["tiny_pivots"] = s.tiny.count;
    d["tiny_pivot"] = nb::make_tuple(s.tiny.row, s.tiny.pivot, s.tiny.largest, s.tiny.in_column);
    d["width"] = s.width;
    d["width_reason"] = s.width_reason;
    d["forward_reason"] = s.forward_reason;
    d["backward_reason"] = s.backward_reason;
    d["threads"] = s.threads;
    d["setup_seconds"] = s.setup_seconds;
    d["symbolic_seconds"] = s.symbolic_seconds;
    d["width_seconds"] = s.width_seconds;
    d["plan_seconds"] = s.plan_seconds;
    d["modelled_seconds"] = s.modelled_seconds;
    return d;
  }

 private:
  Array<i64> begin_;
  Array<i32> rows_;
  Values values_;
  bool unit_;
  std::variant<Held<float>, Held<double>, Held<Number>> held_;
};

/// Of a triangle's pattern, by columns: for each direction, predictions for these numbers of ranks. `filled`: its elimination's
/// fill is what the triangle has, too; else one that stores too little of that is refused, for it is kept by rows. More ranks
/// than blocks are refused, or, unless `all`, left out. A width of 0 is chosen, for one rank.
nb::dict predicted_triangle(Array<i64> begin, Array<i32> rows, const std::vector<std::string>& directions, i64 value_bytes,
                            bool filled, i32 width, const nb::object& machine, std::vector<int> ranks, bool all, i64 columns) {
  if (begin.size() < 2 || begin.data()[begin.size() - 1] != i64(rows.size()))
    bad_argument("the arrays of a triangle do not belong together");
  const Machine described = machine_of(machine);
  trsv::Blocks blocks;
  std::string width_reason;
  std::vector<std::vector<trsv::RanksPrediction>> found;
  {
    nb::gil_scoped_release release;
    const trsv::LowerPattern pattern{i64(begin.size()) - 1, begin.data(), rows.data()};
    const trsv::Elimination elimination = trsv::eliminate(pattern);
    if (!filled && trsv::is_better_by_rows(pattern, elimination, value_bytes))
      bad_argument("supernodes of the triangle would store too many zeros: it is solved by rows, which is not predicted");
    const trsv::Supernodes nodes = trsv::find_supernodes(pattern, elimination);
    if (width == 0) {
      const trsv::WidthChoice choice = trsv::choose_width(nodes, value_bytes, described);
      width = choice.width(), width_reason = choice.said();
    }
    blocks = trsv::cut(nodes, width);
    if (!all) std::erase_if(ranks, [&](int some) { return some > blocks.count(); });
    for (const std::string& direction : directions)
      found.push_back(trsv::choose_ranks(blocks, direction == "forward" ? trsv::Direction::forward : trsv::Direction::backward,
                                         value_bytes, described, ranks, columns)
                          .predicted);
  }
  nb::dict d;
  d["stored_entries"] = blocks.entries;
  d["stored_bytes"] = blocks.values * value_bytes;
  d["blocks"] = blocks.count();
  d["width"] = width;
  d["width_reason"] = width_reason;
  nb::list of_directions;
  for (const auto& of_direction : found) {
    nb::list list;
    for (const trsv::RanksPrediction& p : of_direction) {
      nb::dict one;
      one["ranks"] = p.ranks;
      one["tasks"] = p.tasks;
      one["seconds"] = p.report.seconds;
      one["messages"] = p.report.messages;
      one["message_bytes"] = p.report.message_bytes * columns;
      list.append(one);
    }
    of_directions.append(list);
  }
  d["predicted"] = of_directions;
  return d;
}

/// (rows, values, whether they stood in another order, whether none stands twice)
nb::tuple sorted_columns(Array<i64> begin, Array<i32> rows, Values values, int threads) {
  if (begin.size() < 1 || begin.data()[begin.size() - 1] != i64(rows.size()) || rows.size() != values.size())
    bad_argument("the arrays of a triangle do not belong together");
  const trsv::LowerPattern pattern{i64(begin.size()) - 1, begin.data(), rows.data()};
  auto sort = [&]<class V>(V) {
    trsv::SortedColumns<V> sorted;
    {
      const Numbers<V> given(values);
      nb::gil_scoped_release release;
      sorted = trsv::sorted_columns(pattern, given.begin(), threads);
    }
    return nb::make_tuple(large_array(std::move(sorted.rows)),
                          large_array<V, typename Named<V>::Type>(std::move(sorted.values)), sorted.moved, sorted.unique);
  };
  if (values.dtype() == nb::dtype<float>()) return sort(0.0f);
  return values.dtype() == nb::dtype<double>() ? sort(0.0) : sort(Number{});
}

}  // namespace

void define_triangular(nb::module_& m) {
  using namespace nb::literals;
  m.def("sorted_columns", &sorted_columns, "begin"_a, "rows"_a, "values"_a, "threads"_a);
  m.def("predicted_triangle", &predicted_triangle, "begin"_a, "rows"_a, "directions"_a, "value_bytes"_a, "filled"_a, "width"_a,
        "machine"_a, "ranks"_a, "all"_a, "columns"_a);
  nb::class_<PyTriangle>(m, "Triangle")
      .def(nb::init<Array<i64>, Array<i32>, Values, bool, nb::dict>(), "begin"_a, "rows"_a, "values"_a, "unit"_a, "options"_a)
      .def("solve", &PyTriangle::solve, "b"_a, "trans"_a)
      .def("solve_there", &PyTriangle::solve_there, "b"_a, "x"_a, "trans"_a, "stream"_a, "waits"_a)
      .def("settle", &PyTriangle::settle)
      .def("refine", &PyTriangle::refine, "b"_a, "x"_a, "trans"_a, "most_steps"_a)
      .def("refinements_wanted", &PyTriangle::refinements_wanted, "trans"_a)
      .def("backward_errors", &PyTriangle::backward_errors, "b"_a, "x"_a, "trans"_a)
      .def("update", &PyTriangle::update, "values"_a)
      .def("plans", &PyTriangle::plans)
      .def("statistics", &PyTriangle::statistics);
}

}  // namespace sordino::python
