// The distributed Wilson operator against the serial one, on every kind of grid, and solves with the library's own methods.
#include "check.hpp"
#include "sordino/lattice/measure.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "sordino/solvers/driver.hpp"
#include "unit/lattice/fields.hpp"

namespace {

using namespace sordino;
using namespace sordino::lattice;
using SpinorField = WilsonReference::Field;

struct Case {
  Lattice lattice;
  Coords grid;
  Precision precision = Precision::double_precision;
  int reals = 18;
  Spreading spreading = Spreading::automatic;

  int ranks() const { return grid[0] * grid[1] * grid[2] * grid[3]; }
  double tolerance() const { return precision == Precision::double_precision ? 2e-14 : 2e-5; }
  std::string said() const {
    return to_string(lattice.extent) + " on " + to_string(grid) + (tolerance() > 1e-10 ? ", single" : ", double") +
           " precision, " + std::to_string(reals) + " reals a link" + (lattice.antiperiodic ? ", antiperiodic" : ", periodic");
  }
};

/// A rank's operator, and what came out of it in the reference's order.
struct Part {
  Part(Rank& rank, const Case& c, const Links& links)
      : s(rank),
        box(c.lattice, c.grid, rank.id()),
        links(std::make_shared<LinkField>(rank, box, links, c.precision, c.reals)) {}
  void take(const Dslash& d, Vec v, int parity, SpinorField& out) {
    std::vector<double> words(std::size_t(s.space(d.space()).rows));
    s.read(v, words.data());
    take(d, words, parity, out);
  }
  void take(const Dslash& d, const std::vector<double>& words, int parity, SpinorField& out) const {
    auto keep = [&](const Coords& x, const Spinor<double>& psi) {
      auto* at = &out[std::size_t(box.lattice().number(x)) * 12];
      for (auto& spin : psi.s)
        for (auto& z : spin.c) *at++ = {z.re, z.im};
    };
    d.unpack(words, keep, parity);
  }
  Rank& s;
  Box box;
  std::shared_ptr<LinkField> links;
};

/// D source, `times` times over; all at once, or one parity after the other.
SpinorField hops(Engine& engine, const Case& c, const Links& links, const Source& source, int parities, int times = 1) {
  SpinorField out(std::size_t(c.lattice.volume() * 12));
  engine.run([&](Rank& s) {
    Part part(s, c, links);
    Dslash d(s, part.box, part.links, parities, c.spreading);
    Vec x[2], y[2];
    for (int p = 0; p < 3 - parities; p++) {
      x[p] = d.field(s, "x"), y[p] = s.vector("y", d.space());
      s.write(x[p], d.pack(s, source, p).data());
    }
    auto once = s.record([&] {
      for (int target = 0; target < 3 - parities; target++)
        d.apply(s, {.x = x[parities == 1 ? 1 - target : 0], .y = y[target]}, 1, target);
    });
    auto again = s.record([&] {  // x = D y
      for (int target = 0; target < 3 - parities; target++)
        d.apply(s, {.x = y[parities == 1 ? 1 - target : 0], .y = x[target]}, 1, target);
    });
    for (int k = 0; k < times; k++) s.replay(k % 2 ? again : once);
    for (int p = 0; p < 3 - parities; p++) part.take(d, times % 2 ? y[p] : x[p], p, out);
  });
  return out;
}

SpinorField hops_on_host(const Case& c, const Links& links, const Source& source, int parities, int times = 1) {
  host::HostEngine engine({.ranks = c.ranks(), .timeout = 20});
  return hops(engine, c, links, source, parities, times);
}

constexpr double kappa = 0.12;

struct Solved {
  SpinorField x;
  SolveOutcome outcome;
};

/// M x = b for a random b, on all sites at once.
Solved solve_whole(Engine& engine, const Case& c, const Links& links, const Source& b, const char* name) {
  Solved out{SpinorField(std::size_t(c.lattice.volume() * 12)), {}};
  engine.run([&](Rank& s) {
    Part part(s, c, links);
    WilsonOperator M(s, part.box, part.links, kappa);
    Driver driver(s, M, Identity(), method(name), 32, 0);
    SolveOutcome o = driver.solve(M.dslash().pack(s, b).data(), nullptr, {.rtol = 1e-8});
    if (s.id() == 0) out.outcome = o;
    std::vector<double> x(std::size_t(s.space(M.space()).rows));
    driver.read_solution(x.data());
    part.take(M.dslash(), x, 0, out.x);
  });
  return out;
}

/// The same by way of the even sites.
Solved solve_even_odd(Engine& engine, const Case& c, const Links& links, const Source& b, const char* name) {
  Solved out{SpinorField(std::size_t(c.lattice.volume() * 12)), {}};
  engine.run([&](Rank& s) {
    Part part(s, c, links);
    EvenOddOperator A(s, part.box, part.links, kappa);
    auto vector = [&](const char* what) { return s.vector(what, A.space()); };
    Vec b_even = vector("b even"), b_odd = vector("b odd"), rhs = vector("rhs"), x_even = vector("x even"),
        x_odd = vector("x odd");
    s.write(b_even, A.dslash().pack(s, b, 0).data());
    s.write(b_odd, A.dslash().pack(s, b, 1).data());
    auto eliminate = s.record([&] { A.eliminate(s, b_even, b_odd, rhs); });
    auto substitute = s.record([&] { A.substitute(s, b_odd, x_even, x_odd); });
    Driver driver(s, A, Identity(), method(name), 32, 0);
    std::vector<double> words(std::size_t(s.space(A.space()).rows));
    s.replay(eliminate);
    s.read(rhs, words.data());
    SolveOutcome o = driver.solve(words.data(), nullptr, {.rtol = 1e-8});
    if (s.id() == 0) out.outcome = o;
    driver.read_solution(words.data());
    s.write(x_even, words.data());
    s.replay(substitute);
    part.take(A.dslash(), x_even, 0, out.x);
    part.take(A.dslash(), x_odd, 1, out.x);
  });
  return out;
}

const Coords small{4, 4, 4, 8}, other{8, 4, 6, 4};
const std::pair<Coords, std::vector<Coords>> grids[] = {
    {small,
     {{1, 1, 1, 1},
      {1, 1, 1, 2},
      {2, 1, 1, 1},
      {1, 2, 1, 1},
      {1, 1, 2, 1},
      {1, 1, 1, 4},
      {2, 2, 1, 1},
      {1, 1, 2, 2},
      {2, 1, 1, 4},
      {2, 2, 2, 1},
      {1, 2, 2, 2},
      {2, 2, 2, 2}}},
    {other, {{1, 1, 1, 1}, {1, 1, 3, 1}, {4, 1, 1, 1}, {2, 1, 3, 1}, {4, 1, 1, 2}, {1, 2, 1, 2}}}};

}  // namespace

TEST("the hopping term equals the serial one on every kind of grid, in both precisions and link formats") {
  NOTE(fresh::said());
  for (auto& [extent, list] : grids)
    for (bool antiperiodic : {true, false}) {
      Lattice lattice{extent, antiperiodic};
      auto links = random_links(lattice, fresh::seed());
      auto source = random_source(lattice, fresh::seed());
      WilsonReference reference(lattice, links);
      SpinorField expected = reference.hop(reference.field(source));
      for (auto& grid : list)
        for (auto precision : {Precision::double_precision, Precision::single_precision})
          for (int reals : {18, 12})
            for (int parities : {1, 2}) {
              Case c{lattice, grid, precision, reals};
              NOTE(c.said(), ", ", parities, " parities at once");
              CHECK_NEAR(fields::distance(hops_on_host(c, links, source, parities), expected), 0, c.tolerance());
            }
    }
}

TEST("five hops in a row, each as soon as its neighbours' faces are there, are five hops") {
  NOTE(fresh::said());
  Lattice lattice{small};
  auto links = random_links(lattice, fresh::seed());
  auto source = random_source(lattice, fresh::seed());
  WilsonReference reference(lattice, links);
  SpinorField expected = reference.field(source);
  for (int k = 0; k < 5; k++) expected = reference.hop(expected);
  for (Coords grid : {Coords{1, 1, 1, 1}, Coords{1, 1, 1, 4}, Coords{2, 1, 2, 2}})
    for (int parities : {1, 2}) {
      Case c{lattice, grid};
      NOTE(c.said());
      CHECK_NEAR(fields::distance(hops_on_host(c, links, source, parities, 5), expected), 0, 1000 * c.tolerance());
    }
}

TEST("on a CPU a site that is spread has the bits of one that is not") {
  NOTE(fresh::said());
  Lattice lattice{small};
  auto links = random_links(lattice, fresh::seed());
  auto source = random_source(lattice, fresh::seed());
  for (Coords grid : {Coords{1, 1, 1, 1}, Coords{2, 1, 2, 2}})
    for (auto precision : {Precision::double_precision, Precision::single_precision})
      for (int parities : {1, 2}) {
        Case whole{lattice, grid, precision, 12, Spreading::never}, spread = whole;
        spread.spreading = Spreading::always;
        NOTE(whole.said(), ", ", parities, " parities at once");
        SpinorField expected = hops_on_host(whole, links, source, parities, 3);
        CHECK(fields::norm(expected) > 0);
        CHECK_NEAR(fields::distance(hops_on_host(spread, links, source, parities, 3), expected), 0, 0);
      }
}

TEST("the model computes the same bits, in any order of events") {
  NOTE(fresh::said());
  Lattice lattice{small};
  auto links = warm_links(lattice, fresh::seed(), 0.3);
  auto source = random_source(lattice, fresh::seed());
  Case c{lattice, {2, 1, 1, 4}};
  for (int parities : {1, 2}) {
    SpinorField host = hops_on_host(c, links, source, parities, 3);
    for (u64 seed = 0; seed < 5; seed++) {
      NOTE("seed = ", seed);
      model::Options o;
      o.ranks = c.ranks();
      o.seed = seed;
      o.machine.jitter_s = 5e-6;
      model::ModelEngine engine(o);
      CHECK_NEAR(fields::distance(hops(engine, c, links, source, parities, 3), host), 0, 0);
    }
  }
}

TEST("ledgers of host and model count alike") {
  Lattice lattice{{8, 4, 6, 8}};
  auto source = random_source(lattice, 1);
  Case c{lattice, {2, 1, 3, 2}};
  host::HostEngine host({.ranks = c.ranks()});
  model::Options o;
  o.ranks = c.ranks();
  model::ModelEngine model(o);
  hops(host, c, unit_links(), source, 1);
  hops(model, c, unit_links(), source, 1);
  for (int r = 0; r < c.ranks(); r++) CHECK(host.rank(r).ledger.same_counts(model.rank(r).ledger));
}

TEST("dot products of a product's result come with it") {
  NOTE(fresh::said());
  Lattice lattice{small};
  auto links = random_links(lattice, fresh::seed());
  auto source = random_source(lattice, fresh::seed()), other = random_source(lattice, fresh::seed() + 1);
  WilsonReference reference(lattice, links);
  SpinorField a = reference.field(source), b = reference.field(other), Ma = reference.apply(a, kappa);
  for (Coords grid : {Coords{1, 1, 1, 1}, Coords{1, 1, 1, 2}, Coords{2, 2, 2, 1}})
    for (int dots : {1, 2, 3})
      for (int reals : {18, 12}) {
        Case c{lattice, grid, Precision::double_precision, reals};
        NOTE(c.said(), ", ", dots, " dot products");
        host::HostEngine engine({.ranks = c.ranks(), .timeout = 20});
        engine.run(
            [&](Rank& s) {
              Part part(s, c, links);
              WilsonOperator M(s, part.box, part.links, kappa);
              Vec x = M.operand(s, "x"), y = M.result(s, "y"), z = M.result(s, "z");
              Scal yz = s.scalar("(y,z)"), yy = s.scalar("(y,y)"), xz = s.scalar("(x,z)");
              auto apply = s.record([&] {
                s.run(Nothing{}, push(x));
                if (dots == 1) M.apply(s, x, y, start(dot(y, z) >> yz));
                if (dots == 2) M.apply(s, x, y, start(dot(z, y) >> yz, dot(y, y) >> yy));
                if (dots == 3) M.apply(s, x, y, start(dot(y, z) >> yz, dot(y, y) >> yy, dot(x, z) >> xz));
                s.wait(yz);
              });
              s.write(x, M.dslash().pack(s, source).data());
              s.write(z, M.dslash().pack(s, other).data());
              s.replay(apply);
              auto tolerance = double(1e-14L * fields::norm(Ma) * fields::norm(Ma));
              CHECK_NEAR(s.get(yz), double(fields::inner(Ma, b).real()), tolerance);
              if (dots > 1) CHECK_NEAR(s.get(yy), double(fields::inner(Ma, Ma).real()), tolerance);
              if (dots > 2) CHECK_NEAR(s.get(xz), double(fields::inner(a, b).real()), tolerance);
            },
            {});
      }
}

TEST("a rank sends each neighbour one message a hop, of half spinors") {
  Lattice lattice{{8, 4, 6, 8}};
  auto links = unit_links();
  auto source = random_source(lattice, 1);
  auto sent = [&](const Coords& grid, Precision precision, int parities) {
    Case c{lattice, grid, precision};
    host::HostEngine engine({.ranks = c.ranks()});
    hops(engine, c, links, source, parities);
    return std::pair(engine.rank(0).ledger.messages, engine.rank(0).ledger.bytes_sent);
  };
  const i64 t_face = 8 * 4 * 6, x_face = 4 * 6 * 4;  // sites; x is cut into 4 and t into 2
  CHECK(sent({1, 1, 1, 2}, Precision::double_precision, 2) == std::pair(i64(1), 2 * t_face * 96));
  CHECK(sent({1, 1, 1, 2}, Precision::double_precision, 1) == std::pair(i64(2), 2 * t_face * 96));
  CHECK(sent({1, 1, 1, 4}, Precision::single_precision, 2) == std::pair(i64(2), 2 * t_face * 48));
  CHECK(sent({4, 1, 1, 2}, Precision::double_precision, 2) == std::pair(i64(3), (2 * x_face + 2 * t_face / 4) * 96));
}

TEST("flops are those of the count by which dslash is measured, however the lattice is cut") {
  Lattice lattice{{8, 4, 6, 8}};
  for (Coords grid : {Coords{1, 1, 1, 1}, Coords{1, 1, 1, 4}, Coords{4, 1, 3, 2}}) {
    Case c{lattice, grid};
    host::HostEngine engine({.ranks = c.ranks()});
    hops(engine, c, unit_links(), random_source(lattice, 1), 2);
    double sum = 0;
    for (int r = 0; r < c.ranks(); r++) sum += engine.rank(r).ledger.flops;
    CHECK_NEAR(sum, double(lattice.volume()) * (flops_per_site + 24), 0);  // and 24 to scale it
  }
}

TEST("declared bytes are those of a count in which every spinor is read once") {
  Lattice lattice{{8, 4, 6, 8}};
  for (auto precision : {Precision::double_precision, Precision::single_precision})
    for (int reals : {18, 12}) {
      Case c{lattice, {1, 1, 1, 1}, precision, reals};
      NOTE(c.said());
      host::HostEngine engine({.ranks = 1});
      hops(engine, c, unit_links(), random_source(lattice, 1), 1);
      CHECK_NEAR(engine.rank(0).ledger.memory_bytes, double(lattice.volume()) * site_bytes(precision, reals).ideal, 0);
    }
}

TEST("the library's methods solve the Wilson system, and the serial operator agrees") {
  NOTE(fresh::said());
  Lattice lattice{small};
  auto links = warm_links(lattice, fresh::seed(), 0.3);
  auto source = random_source(lattice, fresh::seed());
  WilsonReference reference(lattice, links);
  SpinorField b = reference.field(source);
  auto residual = [&](const SpinorField& x) {
    SpinorField r = reference.apply(x, kappa);
    for (std::size_t k = 0; k < r.size(); k++) r[k] = b[k] - r[k];
    return fields::norm(r) / fields::norm(b);
  };
  for (auto* name : {"bicgstab", "pipebicgstab"})
    for (int reals : {18, 12}) {
      SpinorField first;
      for (Coords grid : {Coords{1, 1, 1, 1}, Coords{1, 1, 1, 2}, Coords{2, 1, 1, 2}, Coords{1, 2, 2, 2}}) {
        Case c{lattice, grid, Precision::double_precision, reals};
        NOTE(name, ", ", c.said());
        host::HostEngine engine({.ranks = c.ranks(), .timeout = 20}), second({.ranks = c.ranks(), .timeout = 20});
        Solved whole = solve_whole(engine, c, links, source, name), halves = solve_even_odd(second, c, links, source, name);
        NOTE(whole.outcome.reason);
        CHECK(whole.outcome.status == Status::converged);
        CHECK(halves.outcome.status == Status::converged);
        CHECK(residual(whole.x) <= 1.001e-8L);
        CHECK(residual(halves.x) <= 1.001e-8L * 2);  // of the even system's right-hand side, which is larger
        CHECK(halves.outcome.iterations < whole.outcome.iterations);
        if (first.empty()) first = whole.x;
        CHECK_NEAR(fields::distance(whole.x, first), 0, 1e-6);
        CHECK_NEAR(fields::distance(halves.x, first), 0, 1e-6);
      }
    }
}

TEST("solves begin with the same residuals on any number of ranks, to rounding") {
  Lattice lattice{small};
  auto links = warm_links(lattice, 3, 0.3);
  auto source = random_source(lattice, 3);
  std::vector<double> first;
  for (Coords grid : {Coords{1, 1, 1, 1}, Coords{1, 1, 1, 2}, Coords{1, 1, 2, 2}, Coords{2, 1, 1, 4}}) {
    Case c{lattice, grid};
    NOTE(c.said());
    host::HostEngine engine({.ranks = c.ranks(), .timeout = 20});
    solve_whole(engine, c, links, source, "bicgstab");
    auto history = engine.rank(0).history;
    REQUIRE(history.size() > 8);
    if (first.empty()) first = history;
    for (std::size_t k = 0; k < 6; k++) CHECK_NEAR(history[k] / first[k], 1, 1e-10);
  }
}

TEST("what cannot be is refused in a sentence") {
  Lattice lattice{small};
  host::HostEngine engine({.ranks = 1});
  engine.run(
      [&](Rank& s) {
        Box box(lattice, {1, 1, 1, 1}, 0);
        CHECK_THROWS(LinkField(s, box, unit_links(), Precision::double_precision, 8), Error, "18 or 12 reals, not 8");
        auto single = std::make_shared<LinkField>(s, box, unit_links(), Precision::single_precision, 18);
        CHECK_THROWS(WilsonOperator(s, box, single, kappa), Error, "solvers compute in double precision");
        Dslash d(s, box, single, 2);
        Vec x = d.field(s, "x");
        CHECK_THROWS(s.record([&] { d.apply(s, {.x = x, .y = x}, 1); }), Error, "cannot overwrite its operands");
        Vec y = d.field(s, "y");
        Scal xy = s.scalar("xy");
        CHECK_THROWS(s.record([&] { d.apply(s, {.x = x, .y = y}, 1, 0, start(dot(x, y) >> xy)); }), Error,
                     "in double precision");
        CHECK_THROWS(Dslash(s, Box(lattice, {1, 1, 1, 2}, 1), single, 2), Error,
                     "rank 0 of 1 was given box 1 of a grid of 1x1x1x2");
      },
      {});
}
