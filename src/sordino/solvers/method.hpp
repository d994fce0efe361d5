// What a Krylov method is: three or four recordings, made once. The driver (driver.hpp) rehearses and replays them, verifies,
// restarts.
#pragma once
#include <memory>
#include <optional>

#include "sordino/base/recovery.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/linalg/watcher.hpp"
#include "sordino/precond/preconditioner.hpp"
#include "sordino/runtime/caching.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// What options say to single methods: how they build bases of several vectors, those that take s steps at once and those that
/// restart, and how far they follow M.
struct StepBasis {
  int s = 12;
  int batch = 1024;        // rows whose products with each other are one small product
  bool monomial = false;   // powers of A M^-1 in place of Chebyshev polynomials, to compare with
  bool by_powers = false;  // lambda_max by the power method in place of Ritz values
  int restart = 30;        // steps after which gmres begins a new basis
  double omega = 1;        // of M^-1 r, that richardson adds to x
};

/// What a method is given to record itself. All vectors live on A's space.
struct Problem {
  Rank& s;
  const Operator& A;
  Scaling d;     // diagonal of M^-1, or unset
  Vec b, x, Ax;  // when `begin` is replayed, Ax = A x holds; afterwards it is the method's to use
  Scal target;   // square of the residual norm at which to stop
  Scal bound;    // square of the residual norm that counts as divergence
  Vec best;      // the x of smallest (r,r) at the checks, and that (r,r)
  Scal best_rr;
  int check_every = 32;
  const Operator* M = nullptr;       // M^-1, where it is no diagonal; `d` is then unset
  const Watcher* watcher = nullptr;  // who looks at x meanwhile
  StepBasis basis = {};
  int steps = 1;                 // iterations that the loop takes at once
  bool is_singular = false;      // with a nullspace, of which rounding leaves a part in r that no iteration takes away
  bool scalars_by_host = false;  // of bicgstab: its scalars are not computed where they are used (bicgstab_scalars.hpp)

  bool is_complex() const { return s.space(A.space()).numbers >= 0; }
  Vec vector(const char* name) const { return s.vector(name, A.space()); }
  Vec operand(const char* name) const { return A.operand(s, name); }  // A can be applied to it
  Vec result(const char* name) const { return A.result(s, name); }    // A can be applied into it
  LastUse last_use() const { return LastUse::of(s.space(A.space()).rows); }

  /// Runs a step that computes v and, for a diagonal M, mv = M^-1 v; computes mv where M is no diagonal; sends mv.
  template <class F, class... E>
  void run_and_precondition(F step, Vec v, Vec mv, E... epilogues) const {
    if (!M) {
      s.run(step, epilogues..., push(mv));
      return;
    }
    run_for_M(step, v, epilogues...);
    M->apply(s, v, mv);
    s.push_last(mv);
  }
  /// Runs a step that computes v, to which M^-1 is applied next, and sends v as it is computed, where M reads others' rows.
  template <class F, class... E>
  void run_for_M(F step, Vec v, E... epilogues) const {
    is_sent(v) ? s.run(step, epilogues..., push(v)) : s.run(step, epilogues...);
  }
  /// A vector that M^-1 is applied to.
  Vec preconditioned(const char* name) const { return M ? M->operand(s, name) : vector(name); }
  /// Whether M^-1 wants rows of it that others have.
  bool is_sent(Vec v) const { return M && s.vectors()[std::size_t(v.id)].exchange; }

  /// Rank::loop, with a look at (r,r) every `check_every` iterations that keeps the best x; they are rounded up to `steps`.
  /// `catch_up`: brings x up to (r,r) for those who look, where it lags at the end of the body.
  template <class B, class C>
  Recorded loop(Rotation rotation, Scal rr, B body, C catch_up) const {
    if (watcher) watcher->add_to(rotation);
    auto look = [&](int every, auto record) {
      s.when(rounds(every, steps), [&] {
        catch_up();
        record();
      });
    };
    auto all = [&] {
      body();
      look(check_every, [&] { keep_best(rr); });
      if (watcher) look(watcher->every, [&] { watcher->record_look(rr); });
    };
    return s.loop(rotation, all, steps);
  }
  template <class B>
  Recorded loop(Rotation rotation, Scal rr, B body) const {
    return loop(rotation, rr, body, [] {});
  }
  void keep_best(Scal rr) const;
};

/// best = x if (r,r) is the smallest so far.
struct KeepBest {
  Get rr, best_rr;
  In x;
  InOut best;
  bool better = false;
  SORDINO_HD void head() { better = rr < best_rr; }
  SORDINO_HD void row(i32 i) {
    if (better) best[i] = x[i];
  }
};

struct LowerBest {
  Get rr;
  Get best_rr;
  Put lowest;
  SORDINO_HD void head() { lowest = rr < best_rr ? rr : best_rr; }
};

/// to = d from; a copy where d is unset.
struct Scaled {
  Whole from;
  Out to;
  Scaling d = {};
  static constexpr double flops = 1;
  static constexpr bool collects = true;  // what the command before it has started (runtime/cuda/collect.cuh)
  SORDINO_HD void row(i32 i) { to[i] = d[i] * from[i]; }
};

/// What a solve replays.
struct Way {
  Recorded begin;            // from x and q = A x to the state before iteration 1
  Recorded iterate;          // a loop; its exit test's value() is (r,r)
  Recorded end;              // after an exit: what x still lacks. Empty where x never lags
  Recorded after_all;        // the same after iterations none of which exited; the loop may go on. Empty where x does not lag
  Recorded replace;          // recomputes from x what recurrences have carried. Empty where nothing drifts
  bool x_is_apart = false;   // `end` is replayed after any exit: nothing else brings x to where it is read
  bool tests_first = false;  // the exit test stands before the update: an iteration that exits did none
  bool normalizes = false;   // what M is applied to is of the size of r at first, and then of 1
  bool levels_out = false;   // (r,r) may stay above a target that x cannot attain: the driver looks at both (Plateau)

  Scal rr;  // (r,r) of the recurrence
  Vec r;    // and r, by the same name after each iteration: what a scaled system is looked at by

  /// Iterations that one of the loop counts as, for a user who compares methods (Problem::steps): one is a product with A, or
  /// two where the field's methods of that name make two.
  int steps() const { return iterate.recording().steps; }
};

class Method : public Way {
 public:
  virtual ~Method() = default;

  Recorded prepare;       // what hangs on the values of A and M alone, from which it may take A x. Empty where nothing does
  int replace_every = 0;  // rounds of the loop between replays of `replace`, where the user does not say

  /// Goes over to a way that loses less and waits more, where this one has led no further; empty: there is none.
  virtual std::optional<Recovery::Kind> fall_back() { return {}; }
  /// Takes, until the next call of one of these three, a way whose loop goes round in so many iterations. One, at least.
  virtual void fit(int /*iterations*/) {}
  /// A solve begins: as if nothing had fallen back.
  virtual void forget() {}
  /// What it fell back to, as the end of a sentence; empty if it did not.
  virtual std::string remark() const { return ""; }
  /// What a solve that diverged says besides, as the end of a sentence; empty: nothing.
  virtual std::string why_diverged() const { return ""; }

  static constexpr bool applies_pairs = false;       // its loop multiplies two vectors at once
  static constexpr bool any_preconditioner = false;  // its preconditioner may be any operator, not only a diagonal
  static constexpr bool flexible = false;            // M may be another operator each time, and need not be symmetric
  static constexpr bool stays = true;                // on GPUs small systems may run its loop in one kernel
  static constexpr bool scalable = true;             // it may iterate on S A S: it says where r is, and replaces none
  static constexpr bool takes_roots = false;         // of a diagonal M, which has to be positive
  static constexpr Factors complex = Factors::real;  // how it computes with complex vectors, if it does

 protected:
  Method() = default;
};

/// Exit test of most methods. (r, r) is compared, never its root: no square root on the device.
struct Converged {
  Get rr, target, bound;
  SORDINO_HD int test() const {
    if (!(rr <= bound)) return blew_up;  // true of a NaN, too
    return rr <= target ? met : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

/// Exit test of the CG family: a non-positive (p, A p) says that A, or M, is not positive definite.
struct ConvergedSpd {
  Get rr, curvature, target, bound;
  SORDINO_HD int test() const {
    if (!(rr <= bound) || curvature != curvature) return blew_up;
    if (rr <= target) return met;
    return curvature <= 0 ? not_definite : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

/// Exit test of the BiCGStab family: (rh, r) has lost all digits against the norms, or a divisor vanished.
struct ConvergedBi {
  Get rr, rho, divisor, shadow, target, bound;  // shadow = (rh, rh)
  SORDINO_HD int test() const {
    if (!(rr <= bound) || rho != rho) return blew_up;
    if (rr <= target) return met;
    bool lost = rho * rho <= 1e-30 * rr * shadow;
    return lost || divisor == 0 ? broke_down : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

/// One way to build a method; each method's .cpp defines its own.
template <class M>
std::unique_ptr<Method> make(const Problem& problem);

}  // namespace sordino
