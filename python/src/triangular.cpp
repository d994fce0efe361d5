// sordino._core.Triangle: a sparse triangular factor, and solves with it.
#include "sordino/api/triangular.hpp"

#include <complex>
#include <cstring>
#include <variant>

#include "convert.hpp"

namespace sordino::python {
namespace {

using trsv::How;
using trsv::Number;

/// float32, float64 or complex128
using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

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

TriangularOptions options_of(const nb::dict& given) {
  TriangularOptions o;
  o.engine = nb::cast<std::string>(given["engine"]);
  o.devices = nb::cast<std::string>(given["devices"]);
  o.ranks = nb::cast<int>(given["ranks"]);
  o.threads = nb::cast<int>(given["threads"]);
  o.width = nb::cast<i32>(given["width"]);
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

  /// do(held, numbers of b, columns)
  template <class Do>
  auto with(const Columns& b, const Do& act) {
    if (b.shape(0) != begin_.size() - 1 || b.shape(1) < 1)
      bad_argument("b has " + std::to_string(b.shape(0)) + " rows, and the triangle " + std::to_string(begin_.size() - 1));
    return std::visit(
        [&]<class V>(Held<V>& held) {
          const Numbers<V> from(b);
          return act(held, from.begin(), i64(b.shape(1)));
        },
        held_);
  }
  static void check_same(const Columns& b, const Columns& x) {
    if (x.shape(0) != b.shape(0) || x.shape(1) != b.shape(1)) bad_argument("x and b have different shapes");
  }

 public:
  PyTriangle(Array<i64> begin, Array<i32> rows, Values values, bool unit, const nb::dict& options)
      : begin_(std::move(begin)), rows_(std::move(rows)), values_(std::move(values)), unit_(unit) {
    const TriangularOptions o = options_of(options);
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
    d["threads"] = s.threads;
    d["setup_seconds"] = s.setup_seconds;
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

}  // namespace

void define_triangular(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<PyTriangle>(m, "Triangle")
      .def(nb::init<Array<i64>, Array<i32>, Values, bool, nb::dict>(), "begin"_a, "rows"_a, "values"_a, "unit"_a, "options"_a)
      .def("solve", &PyTriangle::solve, "b"_a, "trans"_a)
      .def("refine", &PyTriangle::refine, "b"_a, "x"_a, "trans"_a, "most_steps"_a)
      .def("refinements_wanted", &PyTriangle::refinements_wanted, "trans"_a)
      .def("backward_errors", &PyTriangle::backward_errors, "b"_a, "x"_a, "trans"_a)
      .def("update", &PyTriangle::update, "values"_a)
      .def("statistics", &PyTriangle::statistics);
}

}  // namespace sordino::python
