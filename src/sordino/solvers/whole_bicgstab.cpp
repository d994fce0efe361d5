#include "sordino/solvers/whole_bicgstab.hpp"

#include "sordino/solvers/bicgstab_scalars.hpp"
#include "sordino/solvers/shared_dots.hpp"

namespace sordino {
namespace {
using namespace bicgstab;
using namespace whole_vectors;

/// x of a group's ranks, of which each has its share, brought together for those who look. Vectors take turns: the one that is
/// sent next is not the one that another rank may still read.
class SharedX {
 public:
  SharedX(const Problem& k, const Deal& deal)
      : k_(k),
        exchange_(within_group(k.s, deal.row_cuts)),
        own_(share_of(k.s, deal.row_cuts)),
        mine_(k.vector("own rows of x")) {
    for (int look = 0; look < (k.watcher ? 2 : 1); look++) turns_.push_back({vector(), vector()});
    for (Vec& last : last_) last = vector();
  }
  SharedX(const SharedX&) = delete;
  Vec mine() const { return mine_; }
  const Split& own() const { return own_; }
  const std::vector<std::vector<Vec>>& turns() const { return turns_; }
  void record_look() { record(turns_[std::size_t(looks_++)].front()); }
  void record_last(int which) const { record(last_[which]); }

 private:
  Vec vector() const { return k_.s.vector("x of the group", k_.A.space(), &exchange_); }
  void record(Vec sent) const {
    k_.s.run_split(Copy{mine_, sent}, own_, push(sent));
    k_.s.run(Copy{sent, k_.x});
  }

  Problem k_;
  Exchange exchange_;
  Split own_;
  Vec mine_;
  std::vector<std::vector<Vec>> turns_;  // one pair for each look in the loop
  Vec last_[2];                          // behind it
  int looks_ = 0;
};

struct Hierarchical final : Method {
  explicit Hierarchical(const Problem& k);

 private:
  Deal deal_;
  SharedDots dots_;
  SharedX shared_;
};

Hierarchical::Hierarchical(const Problem& k)
    : deal_(k.s.space(k.A.space()), k.A.group()), dots_(k.s, deal_), shared_(k, deal_) {
  auto& q = k.s;
  const Vec rh = k.vector("rh"), p = k.vector("p"), s = k.vector("s"), ph = k.operand("M^-1 p"), sh = k.operand("M^-1 s");
  const Vec v = k.result("v"), v_old = k.result("v old"), t = k.Ax, mine = shared_.mine();
  const Scal rho = q.scalar("rho"), rho_new = q.scalar("rho new"), rv = q.scalar("(rh,v)"), ts = q.scalar("(t,s)"),
             tt = q.scalar("(t,t)"), zeta = q.scalar("zeta"), shadow = q.scalar("(rh,rh)");
  r = k.vector("r"), rr = q.scalar("(r,r)");
  begin = q.record([&] {
    q.run(Begin{.b = k.b, .Ax = t, .d = k.d, .r = r, .rh = rh, .p = p, .ph = ph}, start(rho, shadow));
    q.run_split(Copy{k.x, mine}, shared_.own());
    q.wait(rho);
  });
  const Scalars scalars(k);
  auto body = [&] {
    k.A.apply(q, ph, v);  // v = A p
    q.run(Gathered{v});
    dots_.record(q, 0, v, rh, rv);
    const Quotient alpha = scalars.alpha(rho, rv), last_alpha = scalars.last_alpha(rho, rv);
    q.run(HalfStep{.rho = alpha.above, .rv = alpha.below, .v = v, .r = r, .d = k.d, .s = s, .sh = sh});  // s = r - alpha v
    k.A.apply(q, sh, t);                                                                                 // t = A s
    q.run(Gathered{t});
    dots_.record(q, 1, t, s, ts, tt);
    const Quotient omega = scalars.zeta(ts, tt);
    q.run(StepR{.ts = omega.above, .tt = omega.below, .zeta = zeta, .s = s, .t = t, .r = r});
    dots_.record(q, 2, r, rh, rho_new, rr);
    q.run_split(PartX{.rho = last_alpha.above, .rv = last_alpha.below, .zeta = zeta, .ph = ph, .sh = sh, .x = mine},
                shared_.own());
    q.exit_if(ConvergedBi{finish(rr), rho_new, zeta, shadow, k.target, k.bound});
    scalars.turn(Direction{.rho_new = rho_new, .rho = rho, .rv = rv, .zeta = zeta, .r = r, .v = v, .d = k.d, .p = p, .ph = ph},
                 p, ph);
  };
  Rotation rotation{.vectors = shared_.turns(), .scalars = {{rho_new, rho}}};
  rotation.vectors.push_back({v, v_old});
  iterate = k.loop(rotation, rr, body, [&] { shared_.record_look(); });
  end = q.record([&] { shared_.record_last(0); });
  after_all = q.record([&] { shared_.record_last(1); });
  x_is_apart = true;
}

/// What Bicgstab computes in, where products are gathered.
Vectors whole(const Problem& k) {
  return {.r = k.vector("r"),
          .rh = k.vector("rh"),
          .p = k.vector("p"),
          .s = k.vector("s"),
          .ph = k.operand("M^-1 p"),
          .sh = k.operand("M^-1 s"),
          .v = k.result("v"),
          .v_old = k.result("v old")};
}

std::unique_ptr<Method> redundant(const Problem& k) { return std::make_unique<Bicgstab>(k, whole(k)); }

std::unique_ptr<Method> hierarchical(const Problem& k) {
  if (k.A.group() == 1) return redundant(k);
  return std::make_unique<Hierarchical>(k);
}

MethodEntry on_whole_vectors(const char* summary, std::unique_ptr<Method> (*make)(const Problem&)) {
  MethodEntry entry = method(Bicgstab::name);
  entry.summary = summary;
  entry.replicated = true;
  entry.any_preconditioner = false;
  entry.make = make;
  return entry;
}

}  // namespace

const MethodEntry& whole_bicgstab(WholeVectors how, bool scalars_by_host) {
  const char *each = "BiCGStab on whole vectors, whose operations all ranks repeat",
             *shared = "BiCGStab on whole vectors, some of whose operations groups share";
  static const MethodEntry all[2][2] = {
      {on_whole_vectors(each, redundant), on_whole_vectors(each, make_by_host<redundant>)},
      {on_whole_vectors(shared, hierarchical), on_whole_vectors(shared, make_by_host<hierarchical>)}};
  return all[how == WholeVectors::hierarchical][scalars_by_host];
}

}  // namespace sordino
