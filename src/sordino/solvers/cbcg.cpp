#include "sordino/solvers/cbcg.hpp"

namespace sordino {
namespace cbcg {
namespace {

/// The vectors of a functor of two pairs of bases.
template <class F>
F bases(F f, const std::vector<Vec>& S, const std::vector<Vec>& AS, const std::vector<Vec>& Q, const std::vector<Vec>& AQ) {
  std::copy(S.begin(), S.end(), f.S);
  std::copy(AS.begin(), AS.end(), f.AS);
  std::copy(Q.begin(), Q.end(), f.Q);
  std::copy(AQ.begin(), AQ.end(), f.AQ);
  return f;
}

}  // namespace

Cbcg::Cbcg(const Problem& k) : batches_(k.s, k.A.space(), k.basis.batch, k.basis.s * (k.basis.s + 1)) {
  Names n = names(k);
  prepare = spectrum::estimate(k, {.v = n.z[0], .p = n.S[0], .w = n.AS[0]}, n.eta);
  Problem by_steps = k;
  for (int s = k.basis.s; s > 1 || ways_.empty(); s /= 2) {
    by_steps.steps = s;
    ways_.push_back(way(by_steps, n));
  }
  ways_.push_back(cg::Cg(k));
  take(0);
}

Cbcg::Names Cbcg::names(const Problem& k) {
  Names n;
  n.r = k.preconditioned("r");
  for (Vec& z : n.z) z = k.preconditioned("z");
  for (int j = 0; j < k.basis.s; j++) {
    n.S.push_back(k.operand("S"));
    n.AS.push_back(j == 0 ? k.Ax : k.result("A S"));
    n.Q.push_back(k.vector("Q"));
    n.AQ.push_back(k.vector("A Q"));
  }
  n.eta = k.s.scalar("eta");
  n.rr = k.s.scalar("(r,r)");
  n.rr_before = k.s.scalar("(r,r) before");
  return n;
}

Way Cbcg::way(const Problem& k, Names n) const {
  auto& e = k.s;
  const int s = k.steps;
  const auto width = std::size_t(s);
  for (auto* basis : {&n.S, &n.AS, &n.Q, &n.AQ}) basis->resize(width);
  const auto& [r, z, S, AS, Q, AQ, eta, rr, rr_before] = n;
  const gram::Table G(e, batches_, s, true), C(e, batches_, s, false);
  const int one = e.add_space(gram::replicated(1)), columns = e.add_space(gram::replicated(s));
  auto small = [&](const char* name, int rows) { return e.vector(name, e.add_space(gram::replicated(rows))); };
  Vec Gg = small("G and g", s * s + s), L = small("L", s * s), a = small("a", s), diagonal = small("diagonal of G", s),
      QAS = small("C", s * s), B = small("B", s * s);
  Scal kept = e.scalar("independent directions");
  Vec S0 = k.M ? Vec{} : S[0];
  const double rows = e.space(k.A.space()).rows;

  auto factor = [&] {
    G.start_symmetric(Q, AQ, r);  // l.5, 6
    G.keep(one, Gg);
    e.run_over(one, gram::Factor{s, rr_before, Gg, QAS, L, a, diagonal}, start(kept));  // l.7
  };

  Way way;
  way.rr = rr;
  way.r = r;
  way.begin = e.record([&] {
    k.run_and_precondition(Begin{.b = k.b, .Ax = k.Ax, .d = k.d, .r = r, .S0 = S0, .rr_before = rr_before}, r, S[0], join(rr));
    record_basis(k, n);                         // l.2
    e.run(bases(First{.s = s}, S, AS, Q, AQ));  // l.3
    factor();
    e.wait(rr);
    e.wait(kept);
  });
  way.iterate = k.loop({}, rr, [&] {
    Step step{.s = s, .rows = rows, .rr = rr, .rr_before = rr_before, .a = a, .x = k.x, .r = r, .d = k.d, .S0 = S0};
    std::copy(Q.begin(), Q.end(), step.Q);
    std::copy(AQ.begin(), AQ.end(), step.AQ);
    k.run_and_precondition(step, r, S[0], join(rr));  // l.8, 9
    record_basis(k, n);                               // l.10
    C.start(AQ, S);                                   // l.11
    C.keep(one, QAS);
    e.run_over(columns, gram::Solve{.s = s, .L = L, .C = QAS, .B = B});    // l.12
    e.run(bases(Directions{.s = s, .rows = rows, .B = B}, S, AS, Q, AQ));  // l.13, 14
    factor();
    e.exit_if(Independent{finish(rr), rr_before, finish(kept), k.target, k.bound, s});
  });
  return way;
}

// Algorithm 3 with lambda_min = 0, so zeta = 1, for j = 1..s-1 (001-E6); then only A S_(s-1). S_0 has been computed and sent.
void Cbcg::record_basis(const Problem& k, const Names& n) {
  auto z = [&](std::size_t j) { return j == 0 ? n.r : n.z[j % 3]; };
  for (std::size_t j = 0; j < n.S.size(); j++) {
    if (j > 0) {
      Next next{.eta = n.eta, .f = j == 1 ? 1.0 : 2.0, .g = 1, .AS = n.AS[j - 1], .d = k.d, .z = z(j)};
      if (k.basis.monomial) next.f = 0.5;
      if (!k.basis.monomial) next.z1 = z(j - 1);
      if (!k.basis.monomial && j > 1) next.z2 = z(j - 2);
      if (!k.M) next.S = n.S[j];
      k.run_and_precondition(next, z(j), n.S[j]);
    }
    k.A.apply(k.s, n.S[j], n.AS[j]);
  }
}

std::optional<Recovery::Kind> Cbcg::fall_back() {
  if (taken_ + 1 == ways_.size()) return {};
  take(fallen_ = taken_ + 1);
  return taken_ + 1 == ways_.size() ? Recovery::Kind::classic_cg : Recovery::Kind::smaller_s;
}

void Cbcg::fit(int iterations) {
  std::size_t way = fallen_;
  while (ways_[way].steps() > iterations) way++;
  take(way);
}

std::string Cbcg::remark() const {
  if (fallen_ == 0) return "";
  const int s = ways_[0].steps();
  const std::string asked = std::to_string(s), now = std::to_string(ways_[fallen_].steps());
  if (fallen_ + 1 == ways_.size())
    return "; cg went on where " + (s == 1 ? "cbcg" : asked + " steps at once") + " did not get on";
  return "; s was lowered from " + asked + " to " + now + " where more steps at once did not get on";
}

}  // namespace cbcg

template <>
std::unique_ptr<Method> make<cbcg::Cbcg>(const Problem& problem) {
  return std::make_unique<cbcg::Cbcg>(problem);
}

}  // namespace sordino
