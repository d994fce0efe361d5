// The Wilson dslash for Python: times it, checks it, and solves the Wilson system by way of the even sites.
#include <cmath>

#include "convert.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/comm/communicator.hpp"
#include "sordino/lattice/measure.hpp"
#include "sordino/lattice/plaquette.hpp"
#include "sordino/lattice/wilson.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "sordino/solvers/driver.hpp"

namespace sordino::python {
namespace {

using namespace lattice;

struct Wanted {
  Lattice lattice;
  Coords grid{};
  Precision precision = Precision::double_precision;
  int reals = 18, pairs = 1;
  double kappa = 0;
  bool ranks_given = false, solve = false;
  Links links;
  Source source, other;
};

/// What came out, of all ranks.
struct Found {
  Hops hops;  // of the slowest rank; the first one's ledger
  std::vector<Span> trace;
  Hermiticity hermiticity;
  SolveOutcome outcome;
  Ledger ledger;  // of the solve
  double seconds = 0, residual2 = 0, b2 = 0;
};

Coords coords(const std::vector<int>& v, const char* what) {
  if (v.size() != 4) bad_argument(std::string(what) + " has four numbers, for x, y, z and t");
  return {v[0], v[1], v[2], v[3]};
}

Wanted read(const nb::dict& d) {
  Wanted w;
  u64 seed = nb::cast<u64>(d["seed"]);
  w.lattice = {coords(nb::cast<std::vector<int>>(d["extent"]), "a lattice"), nb::cast<bool>(d["antiperiodic"])};
  auto grid = nb::cast<std::vector<int>>(d["grid"]);
  if (!grid.empty()) w.grid = coords(grid, "a grid of ranks");
  w.precision = nb::cast<std::string>(d["precision"]) == "single" ? Precision::single_precision : Precision::double_precision;
  w.reals = nb::cast<int>(d["recon"]);
  w.pairs = nb::cast<int>(d["iterations"]);
  w.kappa = nb::cast<double>(d["kappa"]);
  w.solve = nb::cast<bool>(d["solve"]);
  w.ranks_given = nb::cast<bool>(d["ranks_given"]);
  auto links = nb::cast<std::string>(d["links"]);
  w.links = links == "unit"     ? unit_links()
            : links == "random" ? random_links(w.lattice, seed)
                                : warm_links(w.lattice, seed, 0.3);
  w.source = random_source(w.lattice, seed);
  w.other = random_source(w.lattice, seed + 1);
  return w;
}

/// The engine, and the grid of its ranks. Where one process runs and the user does not say how many ranks, as many as the
/// lattice can be cut for.
EngineChoice choose_engine(Wanted& w, Options options, const Machine& machine) {
  const int processes = number_of_processes();
  if (w.grid[0] == 0 && !w.ranks_given && processes == 1) options.ranks = most_ranks(w.lattice, options.ranks);
  const int all = options.ranks * processes;
  if (w.grid[0] == 0) {
    w.grid = choose_grid(w.lattice, all);
  } else {
    int ranks = w.grid[0] * w.grid[1] * w.grid[2] * w.grid[3];
    if (all != ranks)
      bad_argument("a grid of " + to_string(w.grid) + " is for " + std::to_string(ranks) + " ranks, not " +
                   std::to_string(all));
    Box(w.lattice, w.grid, 0);  // says what is wrong with it
  }
  EngineChoice choice = make_engine(options, machine);
  if (choice.engine->size() != all) bad_argument("dslash needs the same number of ranks in every process");
  return choice;
}

/// M x = b through (1 - kappa^2 D_eo D_oe) x_e = b_e + kappa D_eo b_o, whose residual is that of the whole.
class EvenOddSolve {
 public:
  EvenOddSolve(Rank& rank, const Wanted& w, const Box& box, std::shared_ptr<const LinkField> links, const Options& o)
      : s_(rank), A_(rank, box, std::move(links), w.kappa), method_(method(o.solver == "auto" ? "bicgstab" : o.solver)) {
    if (method_.replicated) bad_argument("the Wilson system is solved on distributed vectors: choose another solver");
    auto vector = [&](const char* name) { return s_.vector(name, A_.space()); };
    for (int p : {0, 1}) b_[p] = vector("b"), x_[p] = vector("x"), Mx_[p] = vector("M x");
    rhs_ = vector("rhs");
    eliminate_ = s_.record([&] { A_.eliminate(s_, b_[0], b_[1], rhs_); });
    substitute_ = s_.record([&] { A_.substitute(s_, b_[1], x_[0], x_[1]); });
    whole_ = s_.record([&] {
      for (int p : {0, 1}) A_.dslash().apply(s_, {.x = x_[1 - p], .y = Mx_[p], .z = x_[p]}, -w.kappa, p);
    });
    driver_ = std::make_unique<Driver>(s_, A_, identity_, method_, o.check_every, o.replace_every);
    for (int p : {0, 1}) b_words_[p] = A_.dslash().pack(s_, w.source, p);
  }
  double b2() const { return norm2(b_words_[0]) + norm2(b_words_[1]); }  // of this rank

  SolveOutcome solve(double atol, int max_iterations) {
    std::vector<double> words(b_words_[0].size());
    for (int p : {0, 1}) s_.write(b_[p], b_words_[p].data());
    s_.replay(eliminate_);
    s_.read(rhs_, words.data());
    SolveOutcome out = driver_->solve(words.data(), nullptr, {.rtol = 0, .atol = atol, .max_iterations = max_iterations});
    driver_->read_solution(words.data());
    s_.write(x_[0], words.data());
    s_.replay(substitute_);
    return out;
  }
  /// This rank's part of ||b - M x||^2, on all sites.
  double residual2() {
    s_.replay(whole_);
    double sum = 0;
    std::vector<double> r(b_words_[0].size());
    for (int p : {0, 1}) {
      s_.read(Mx_[p], r.data());
      for (std::size_t k = 0; k < r.size(); k++) r[k] -= b_words_[p][k];
      sum += norm2(r);
    }
    return sum;
  }

 private:
  static double norm2(const std::vector<double>& v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    return sum;
  }
  Rank& s_;
  EvenOddOperator A_;
  const MethodEntry& method_;
  Identity identity_;
  Vec b_[2], x_[2], Mx_[2], rhs_;
  Recorded eliminate_, substitute_, whole_;
  std::unique_ptr<Driver> driver_;
  std::vector<double> b_words_[2];
};

/// One rank's memory of the problem; kept between the runs.
struct Part {
  std::unique_ptr<Box> box;
  std::shared_ptr<const LinkField> links;
  std::unique_ptr<EvenOddSolve> solve;
};

/// Ctrl-C while there is no solution yet: nothing is kept.
void stop_on_signal() {
  nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Sums and maxima over the ranks of all processes; known to all of them.
constexpr i64 found_tag = 1;
double slowest(Rank& s, double seconds) { return Communicator(s, found_tag).all_reduce(std::vector{seconds}, Fold::max)[0]; }
std::vector<double> total(Rank& s, const std::vector<double>& parts) { return Communicator(s, found_tag).all_reduce(parts); }

void run(Engine& engine, const Wanted& w, const Options& o, std::vector<Part>& parts, Found& found) {
  auto part_of = [&](const Rank& s) -> Part& { return parts[std::size_t(s.id() - engine.first_rank())]; };
  auto speaks = [&](const Rank& s) { return s.id() == engine.first_rank(); };
  auto measure = [&](Rank& s) {
    Part& p = part_of(s);
    p.box = std::make_unique<Box>(w.lattice, w.grid, s.id());
    p.links = std::make_shared<const LinkField>(s, *p.box, w.links, w.precision, w.reals);
    Hermiticity h = check_hermiticity(s, *p.box, p.links, w.kappa, w.source, w.other);
    Hops hops = time_hops(s, *p.box, p.links, w.source, w.pairs);
    if (w.solve) p.solve = std::make_unique<EvenOddSolve>(s, w, *p.box, p.links, o);
    auto sum = total(s, {h.left.re, h.left.im, h.right.re, h.right.im, h.xx, h.yy, w.solve ? p.solve->b2() : 0});
    double seconds = slowest(s, hops.seconds);
    if (!speaks(s)) return;
    found.hermiticity = {{sum[0], sum[1]}, {sum[2], sum[3]}, sum[4], sum[5]};
    found.b2 = sum[6];
    found.hops = {seconds, hops.ledger};
  };
  engine.trace().on = o.trace;
  engine.run(measure, stop_on_signal);
  found.trace = engine.trace().take();
  engine.trace().on = false;
  if (!w.solve) return;
  auto look = [&] {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) {
      PyErr_Clear();
      engine.request_stop();
    }
  };
  engine.clear_stop();
  Ledger before = engine.rank(0).ledger, after;
  engine.run(
      [&](Rank& s) {
        Part& p = part_of(s);
        double begin = s.engine().now(s);
        SolveOutcome out = p.solve->solve(o.rtol * std::sqrt(found.b2), o.maxiter > 0 ? o.maxiter : 10000);
        double seconds = s.engine().now(s) - begin, r2 = p.solve->residual2();
        if (speaks(s)) after = s.ledger;
        auto sum = total(s, {r2});
        seconds = slowest(s, seconds);
        if (!speaks(s)) return;
        found.residual2 = sum[0];
        found.seconds = seconds;
        found.outcome = std::move(out);
      },
      look);
  found.ledger = difference(after, before);
  found.ledger.time = found.seconds;
}

/// As above; what a rank that never came back may still touch is not freed.
Found run(EngineChoice& choice, const Wanted& w, const Options& o) {
  auto parts = std::make_unique<std::vector<Part>>(std::size_t(choice.engine->local_ranks()));
  Found found;
  try {
    run(*choice.engine, w, o, *parts, found);
  } catch (...) {
    if (choice.engine->has_lost_a_rank()) {
      parts.release();
      choice.engine.release();
    }
    throw;
  }
  return found;
}

nb::dict dslash(const nb::dict& problem, const nb::dict& options, const nb::object& machine) {
  Options o;
  update(o, options);
  validate(o);
  Wanted w = read(problem);
  Machine m = machine_of(machine);
  Found found;
  EngineChoice choice;
  {
    nb::gil_scoped_release release;
    choice = choose_engine(w, o, m);
    found = run(choice, w, o);
  }
  auto bytes = site_bytes(w.precision, w.reals);
  double sites = double(w.lattice.volume()) / 2;  // of one parity: those that a hop computes
  nb::dict d;
  d["engine"] = choice.engine->name();
  d["transport"] = choice.transport;
  d["ranks"] = choice.engine->size();
  d["grid"] = nb::make_tuple(w.grid[0], w.grid[1], w.grid[2], w.grid[3]);
  d["seconds_per_hop"] = found.hops.seconds;
  d["flops_per_site"] = flops_per_site;
  d["bytes_per_site_uncached"] = bytes.uncached;
  d["bytes_per_site_ideal"] = bytes.ideal;
  d["sites_per_hop"] = sites;
  d["hermiticity_error"] = found.hermiticity.error();
  Report hops;
  hops.seconds = found.hops.ledger.time;
  hops.ledger = found.hops.ledger;
  hops.trace = std::move(found.trace);
  nb::dict told = report_dict(hops, nb::none());
  d["ledger"] = told["ledger"];
  d["trace"] = told["trace"];
  if (!w.solve) return d;
  Report r;
  r.status = found.outcome.status;
  r.reason = found.outcome.reason;
  r.iterations = found.outcome.iterations;
  r.residual_norm = std::sqrt(found.residual2);
  r.true_residual = std::sqrt(found.residual2 / found.b2);
  r.seconds = found.seconds;
  r.history = found.outcome.history;
  r.recoveries = found.outcome.recoveries;
  r.ledger = found.ledger;
  d["solve"] = report_dict(r, nb::none());
  return d;
}

/// Seconds of a hop on a described machine, where nothing is computed: any lattice, on any number of ranks.
double predict_hop(const std::vector<int>& extent, int ranks, const std::string& precision, int recon,
                   const nb::object& machine) {
  Lattice lattice{coords(extent, "a lattice"), true};
  Machine described = machine_of(machine);
  auto reals = precision == "single" ? Precision::single_precision : Precision::double_precision;
  constexpr int pairs = 3;
  double seconds = 0;
  nb::gil_scoped_release release;
  Coords grid = choose_grid(lattice, ranks);
  model::ModelEngine engine({.machine = described, .ranks = ranks, .arithmetic = false});
  engine.run([&](Rank& s) {
    Box box(lattice, grid, s.id());
    Dslash d(s, box, std::make_shared<const LinkField>(s, box, unit_links(), reals, recon), 1);
    Vec even = d.field(s, "even"), odd = d.field(s, "odd");
    Recorded loop = s.loop({}, [&] {
      d.apply(s, {.x = even, .y = odd}, 0.125, 1);
      d.apply(s, {.x = odd, .y = even}, 0.125, 0);
    });
    s.engine().barrier(s);
    double begin = s.engine().now(s);
    s.replay(loop, pairs);
    seconds = std::max(seconds, s.engine().now(s) - begin);
  });
  return seconds / (2.0 * pairs);
}

/// The plaquette in the middle layer of the gauge field of a problem, as dslash() takes it: [ly][lx], x fastest.
nb::object plaquette_layer(const nb::dict& problem) {
  Wanted w = read(problem);
  return owned_array(lattice::plaquettes(w.lattice, w.links, w.lattice.extent[2] / 2, w.lattice.extent[3] / 2));
}

}  // namespace

void define_dslash(nb::module_& m) {
  using namespace nb::literals;
  m.def("predict_hop", &predict_hop, "extent"_a, "ranks"_a, "precision"_a, "recon"_a, "machine"_a);
  m.def("plaquettes", &plaquette_layer, "problem"_a);
  m.def("dslash", &dslash, "problem"_a, "options"_a = nb::dict(), "machine"_a.none() = nb::none());
}

}  // namespace sordino::python
