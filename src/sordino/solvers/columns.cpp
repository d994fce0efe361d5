#include "sordino/solvers/columns.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/solvers/bicgstab_lines.hpp"
#include "sordino/solvers/columns_steps.hpp"
#include "sordino/solvers/gram.hpp"
#include "sordino/solvers/recourse.hpp"

namespace sordino::columns {
namespace {

/// Rounds that a log has room for. Checks for the best x count anew behind so many, and come where a solve of one has them.
int rounds_of(int check_every) {
  constexpr int enough = 128;
  return check_every * std::max(1, enough / check_every);
}

template <int C>
std::vector<Scal> listed(const Scals<C>& scalars) {
  return {scalars.of, scalars.of + C};
}

/// What several columns have in the place of what one system has.
template <int C>
struct Beside {
  using V = Several<double, C>;
  const Problem& k;
  Scals<C> rr, ended, target, bound, bb, best_rr, chosen;
  Scal round;
  Vec log;
  int one_row;

  Beside(const Problem& problem, int space_of_one)
      : k(problem),
        rr(scalar_of<V>(k.s, "(r,r)")),
        ended(scalar_of<V>(k.s, "ended", no_part)),
        target(scalar_of<V>(k.s, "target", 0.0)),
        bound(scalar_of<V>(k.s, "bound", 0.0)),
        bb(scalar_of<V>(k.s, "(b,b)")),
        best_rr(scalar_of<V>(k.s, "best (r,r)", HUGE_VAL)),
        chosen(scalar_of<V>(k.s, "chosen", 0.0)),
        round(k.s.scalar("round", 0)),
        log(k.s.vector("log of columns", k.s.add_space(gram::replicated(rounds_of(k.check_every) * C)))),
        one_row(space_of_one) {}

  void dots(DotEach<C> a) const { k.s.run(DotsOf<C, 1>{.ended = ended, .a = a.a, .b = a.b, .c = {}, .d = {}}, start(a.to)); }
  void dots(DotEach<C> a, DotEach<C> b) const {
    k.s.run(DotsOf<C, 2>{.ended = ended, .a = a.a, .b = a.b, .c = b.a, .d = b.b}, start(a.to, b.to));
  }
  template <class... D>
  void product(Vec from, Vec to, D... products) const {
    k.A.apply(k.s, from, to);
    dots(products...);
  }
  bicgstab::QuotientOf<V> alpha(const Scals<C>& rho, const Scals<C>& rv) const { return {rho, finish(rv)}; }
  bicgstab::QuotientOf<V> last_alpha(const Scals<C>& rho, const Scals<C>& rv) const { return {rho, rv}; }
  bicgstab::QuotientOf<V> zeta(const Scals<C>& ts, const Scals<C>& tt) const { return {finish(ts), tt}; }
  void turn(const bicgstab::DirectionOf<V>& step, Vec p, Vec ph) const { k.run_and_precondition(step, p, ph); }
  void exit_if(const Scals<C>& rho_new, const Scals<C>& zeta, const Scals<C>& shadow) const {
    k.s.run_over(one_row, Log<C>{.rr = finish(rr), .ended = ended, .round = round, .log = log});
    k.s.run(Judge<C>{.rr = rr,
                     .rho_new = rho_new,
                     .zeta = zeta,
                     .shadow = shadow,
                     .target = target,
                     .bound = bound,
                     .ended = ended,
                     .round = round,
                     .verdict = ended,
                     .next_zeta = zeta,
                     .next_round = round});
    k.s.exit_if(AllEnded<C>{ended, rr, bb});
  }
  void keep_chosen() const { k.s.run(KeepChosen<C>{.chosen = chosen, .from = k.x, .to = k.best}); }
  template <class B>
  Recorded loop(const Rotation& rotation, B body) const {
    return k.s.loop(rotation, [&] {
      body();
      k.s.when(k.check_every, [&] {
        k.s.run(Lower<C>{.rr = rr, .best_rr = best_rr, .ended = ended, .lowest = best_rr, .chosen = chosen});
        keep_chosen();
      });
    });
  }
};

template <int C>
Columns record(Rank& rank, const Operator& A, Scaling d, int check_every) {
  Columns all;
  all.count = C;
  all.b = rank.vector("b", A.space());
  all.x = A.operand(rank, "x");
  all.best = rank.vector("best x", A.space());
  const Problem k{.s = rank,
                  .A = A,
                  .d = d,
                  .b = all.b,
                  .x = all.x,
                  .Ax = A.result(rank, "A x"),
                  .target = {},
                  .bound = {},
                  .best = all.best,
                  .best_rr = {},
                  .check_every = std::min(check_every, most_unchecked)};
  const Beside<C> on(k, rank.add_space(gram::replicated(1)));
  const Vec v = k.result("v");
  const bicgstab::Vectors vectors{.r = k.vector("r"),
                                  .rh = k.vector("rh"),
                                  .p = k.vector("p"),
                                  .s = k.vector("s"),
                                  .ph = k.operand("M^-1 p"),
                                  .sh = k.operand("M^-1 s"),
                                  .v = v,
                                  .v_old = v};
  bicgstab::record_lines(all.way, on, vectors);
  const Scals<C> true_rr = scalar_of<Several<double, C>>(rank, "(b-Ax,b-Ax)");
  all.norms = rank.record([&] {
    on.dots(dot(k.b, k.b) >> on.bb);
    rank.wait(any(on.bb));
  });
  all.residual = rank.record([&] {
    rank.run(Nothing{}, push(k.x));
    A.apply(rank, k.x, k.Ax);
    rank.run(ResidualOf<C>{.b = k.b, .Ax = k.Ax}, start(true_rr));
    rank.wait(any(true_rr));
  });
  all.keep = rank.record([&] { on.keep_chosen(); });
  all.swap = rank.record([&] { rank.run(SwapChosen<C>{.chosen = on.chosen, .a = k.x, .b = k.best}); });
  all.log = on.log, all.rounds = rounds_of(k.check_every), all.round = on.round;
  all.bb = listed(on.bb), all.true_rr = listed(true_rr), all.target = listed(on.target), all.bound = listed(on.bound);
  all.best_rr = listed(on.best_rr), all.ended = listed(on.ended), all.chosen = listed(on.chosen);
  return all;
}

}  // namespace

Columns record_bicgstab(Rank& rank, const Operator& A, Scaling d, int check_every) {
  const Space& space = rank.space(A.space());
  if (space.numbers < 0) bad_argument("a product of one vector is no product of columns");
  switch (space.n_global / rank.space(space.numbers).n_global) {
    case 2: return record<2>(rank, A, d, check_every);
    case 4: return record<4>(rank, A, d, check_every);
    case 8: return record<8>(rank, A, d, check_every);
    default: bad_argument("columns are solved by 2, 4 or 8");
  }
}

}  // namespace sordino::columns
