#include "sordino/solvers/cocg.hpp"

#include "sordino/solvers/cg.hpp"

namespace sordino {
namespace cocg {

Cocg::Cocg(const Problem& k) {
  auto& s = k.s;
  Names names{k.Ax, k.preconditioned("r"), k.operand("p"), {s, "w^T p"}, {s, "r^T z"}, {s, "r^T z old"}, s.scalar("(z,z)")};
  rr = s.scalar("(r,r)");
  r = names.r;
  levels_out = k.is_singular;
  k.M ? record_with_operator(k, names) : record(k, names);
  const ScalNumber &rz = names.rz_old, &wp = names.wp;
  end = s.record(
      [&] { s.run(LastStep{.rz_re = rz.re, .rz_im = rz.im, .wp_re = wp.re, .wp_im = wp.im, .p = names.p, .x = k.x}); });
}

void Cocg::record(const Problem& k, const Names& names) {
  auto& s = k.s;
  NumberScaling d{Vec{k.d.id}};
  const auto& [w, r, p, wp, rz, rz_old, zz] = names;
  Scal rr_begin = s.scalar("(r,r) at first"), zz_begin = s.scalar("(z,z) at first");
  begin = s.record([&] {
    s.run(Begin{.b = k.b, .Ax = w, .d = d, .r = r, .p = p}, start(rz_old.re, rz_old.im, rr_begin, zz_begin), push(p));
    s.wait(rz_old.re);
  });
  iterate = k.loop({.scalars = {{rz.re, rz_old.re}, {rz.im, rz_old.im}}}, rr, [&] {
    k.A.apply(s, p, w, start(dot(w, p, Turn::conjugate) >> wp.re, dot(w, p, Turn::conjugate_by_i) >> wp.im));
    s.run(Residual{.rz_re = rz_old.re, .rz_im = rz_old.im, .wp_re = finish(wp.re), .wp_im = wp.im, .w = w, .d = d, .r = r},
          start(rz.re, rz.im, rr, zz));
    s.exit_if(ConvergedNumbers{rz.re, rz.im, finish(rr), wp.re, wp.im, zz, k.target, k.bound});
    s.run(Direction{.rz_re = rz.re,
                    .rz_im = rz.im,
                    .old_re = rz_old.re,
                    .old_im = rz_old.im,
                    .wp_re = wp.re,
                    .wp_im = wp.im,
                    .r = r,
                    .d = d,
                    .x = k.x,
                    .p = p},
          push(p));
  });
}

void Cocg::record_with_operator(const Problem& k, const Names& names) {
  auto& s = k.s;
  const auto& [w, r, p, wp, rz, rz_old, zz] = names;
  Vec z = k.M->result(s, "z");
  Scal zz_begin = s.scalar("(z,z) at first");
  auto precondition = [&](const ScalNumber& to, Scal size) {  // z = M^-1 r
    k.M->apply(s, r, z,
               start(dot(z, r, Turn::conjugate) >> to.re, dot(z, r, Turn::conjugate_by_i) >> to.im, dot(z, z) >> size));
  };
  begin = s.record([&] {
    k.run_for_M(Defect{.b = k.b, .Ax = w, .r = r}, r);
    precondition(rz_old, zz_begin);
    s.copy(z, p, push(p));
    s.wait(rz_old.re);
  });
  iterate = k.loop({.scalars = {{rz.re, rz_old.re}, {rz.im, rz_old.im}}}, rr, [&] {
    k.A.apply(s, p, w, start(dot(w, p, Turn::conjugate) >> wp.re, dot(w, p, Turn::conjugate_by_i) >> wp.im));
    k.run_for_M(ResidualAlone{.rz_re = rz_old.re, .rz_im = rz_old.im, .wp_re = finish(wp.re), .wp_im = wp.im, .w = w, .r = r},
                r,
                join(rr));  // travels with the three of M, which takes no more where they are of complex numbers
    precondition(rz, zz);
    s.exit_if(ConvergedNumbers{finish(rz.re), rz.im, finish(rr), wp.re, wp.im, zz, k.target, k.bound});
    s.run(Direction{.rz_re = rz.re,
                    .rz_im = rz.im,
                    .old_re = rz_old.re,
                    .old_im = rz_old.im,
                    .wp_re = wp.re,
                    .wp_im = wp.im,
                    .r = z,
                    .d = {},
                    .x = k.x,
                    .p = p},
          push(p));
  });
}

}  // namespace cocg

template <>
std::unique_ptr<Method> make<cocg::Cocg>(const Problem& problem) {
  if (!problem.is_complex()) return make<cg::Cg>(problem);
  return std::make_unique<cocg::Cocg>(problem);
}

}  // namespace sordino
