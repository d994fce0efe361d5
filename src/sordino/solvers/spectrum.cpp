#include "sordino/solvers/spectrum.hpp"

#include <string>

namespace sordino::spectrum {
namespace {

class Estimate {
 public:
  Estimate(const Problem& k, const Workspace& work)
      : k_(k), s_(k.s), v_(work.v), p_(work.p), w_(work.w), z_(k.M ? k.M->result(k.s, "M^-1 v") : work.w) {}

  Recorded by_ritz_values(Scal eta) {
    FromRitz f;
    std::vector<Scal> rz, wp;
    for (int j = 0; j <= ritz_steps; j++) {
      rz.push_back(s_.scalar("(r,z) of step " + std::to_string(j)));
      f.rz[j] = rz.back();
      if (j == ritz_steps) continue;
      wp.push_back(s_.scalar("(w,p) of step " + std::to_string(j)));
      f.wp[j] = wp.back();
    }
    f.eta = eta;
    return s_.record([&] {
      begin();
      s_.dots(dot(v_, z_) >> rz[0]);
      s_.copy(z_, p_, push(p_));
      s_.wait(rz[0]);
      for (std::size_t j = 0; j < wp.size(); j++) {
        k_.A.apply(s_, p_, w_, start(dot(w_, p_) >> wp[j]));
        k_.run_for_M(Residual{.rz = rz[j], .wp = finish(wp[j]), .w = w_, .r = v_}, v_);
        precondition();
        s_.dots(dot(v_, z_) >> rz[j + 1]);
        if (j + 1 < wp.size())
          s_.run(Direction{.rz = finish(rz[j + 1]), .rz_old = rz[j], .z = z_, .p = p_}, push(p_));
        else
          s_.wait(rz[j + 1]);
      }
      s_.run(f);
    });
  }

  Recorded by_powers(Scal eta) {
    Scal ww = s_.scalar("(w,w)");
    return s_.record([&] {
      begin();
      for (int j = 0; j < power_steps; j++) {
        if (j > 0) {
          k_.run_for_M(Normalize{.ww = finish(ww), .w = w_, .v = v_}, v_);
          precondition();
        }
        s_.copy(z_, p_, push(p_));
        k_.A.apply(s_, p_, w_, start(dot(w_, w_) >> ww));
      }
      s_.run(FromPower{.ww = finish(ww), .eta = eta});
    });
  }

 private:
  void begin() {
    k_.run_for_M(Random{.first = s_.space(k_.A.space()).first_row, .v = v_}, v_);
    precondition();
  }
  void precondition() { k_.M ? k_.M->apply(s_, v_, z_) : void(s_.run(Scaled{.from = v_, .to = z_, .d = k_.d})); }

  const Problem& k_;
  Rank& s_;
  Vec v_, p_, w_, z_;
};

}  // namespace

Recorded estimate(const Problem& k, const Workspace& work, Scal eta) {
  Estimate e(k, work);
  return k.basis.by_powers ? e.by_powers(eta) : e.by_ritz_values(eta);
}

}  // namespace sordino::spectrum
