#include "sordino/solvers/complex_bicgstab.hpp"

namespace sordino::complex_bicgstab {
namespace {

struct ComplexBicgstab final : Method {
  explicit ComplexBicgstab(const Problem& problem);
};

ComplexBicgstab::ComplexBicgstab(const Problem& k) {
  auto& q = k.s;
  auto& A = k.A;
  NumberScaling d{Vec{k.d.id}};
  Vec x = k.x, r = k.vector("r"), rh = k.vector("rh"), v = k.vector("v"), t = k.Ax;
  Vec p = k.preconditioned("p"), s = k.preconditioned("s");
  Vec ph = k.operand("M^-1 p"), sh = k.operand("M^-1 s");
  ScalNumber rho(q, "rho"), rho_new(q, "rho new"), rv(q, "(rh,v)"), st(q, "(s,t)"), zeta(q, "zeta");
  Scal tt = q.scalar("(t,t)"), shadow = q.scalar("(rh,rh)");
  rr = q.scalar("(r,r)");

  begin = q.record([&] {
    k.run_and_precondition(Begin{.b = k.b, .Ax = t, .d = d, .r = r, .rh = rh, .p = p, .ph = ph}, p, ph,
                           start(rho.re, rho.im, shadow));
    q.wait(rho.re);
  });
  iterate = k.loop({.scalars = {{rho_new.re, rho.re}, {rho_new.im, rho.im}}}, rr, [&] {
    A.apply(q, ph, v, start(dot(v, rh) >> rv.re, dot(v, rh, Turn::by_i) >> rv.im));  // v = A p
    k.run_and_precondition(                                                          // s = r - alpha v
        HalfStep{.rho_re = rho.re,
                 .rho_im = rho.im,
                 .rv_re = finish(rv.re),
                 .rv_im = rv.im,
                 .v = v,
                 .r = r,
                 .d = d,
                 .s = s,
                 .sh = sh},
        s, sh);
    A.apply(q, sh, t, start(dot(t, s) >> st.re, dot(t, s, Turn::by_i) >> st.im, dot(t, t) >> tt));  // t = A s
    q.run(Step{.rho_re = rho.re,
               .rho_im = rho.im,
               .rv_re = rv.re,
               .rv_im = rv.im,
               .st_re = finish(st.re),
               .st_im = st.im,
               .tt = tt,
               .zeta_re = zeta.re,
               .zeta_im = zeta.im,
               .ph = ph,
               .sh = sh,
               .s = s,
               .t = t,
               .rh = rh,
               .x = x,
               .r = r},
          start(rho_new.re, rho_new.im, rr));
    q.exit_if(ConvergedNumbers{rho_new.re, rho_new.im, finish(rr), zeta.re, zeta.im, shadow, k.target, k.bound});
    k.run_and_precondition(Direction{.new_re = rho_new.re,
                                     .new_im = rho_new.im,
                                     .rho_re = rho.re,
                                     .rho_im = rho.im,
                                     .rv_re = rv.re,
                                     .rv_im = rv.im,
                                     .zeta_re = zeta.re,
                                     .zeta_im = zeta.im,
                                     .r = r,
                                     .v = v,
                                     .d = d,
                                     .p = p,
                                     .ph = ph},
                           p, ph);
  });
}

}  // namespace

std::unique_ptr<Method> make_method(const Problem& problem) { return std::make_unique<ComplexBicgstab>(problem); }

}  // namespace sordino::complex_bicgstab
