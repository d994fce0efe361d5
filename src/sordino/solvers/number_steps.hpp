// What methods share that compute with complex numbers: the parts of a scalar, and their exit test.
#pragma once
#include "sordino/solvers/method.hpp"

namespace sordino {

using Number = Complex<double>;

/// Vectors of a functor that is written once for words and for complex numbers.
template <class V>
struct FieldsOf {
  using In = sordino::In;
  using Out = sordino::Out;
  using InOut = sordino::InOut;
  using Scaling = sordino::Scaling;
};
template <>
struct FieldsOf<Number> {
  using In = InNumber;
  using Out = OutNumber;
  using InOut = InOutNumber;
  using Scaling = NumberScaling;
};

/// A complex scalar: two real ones.
struct ScalNumber {
  Scal re, im;
  ScalNumber(Rank& rank, const std::string& name) : re(rank.scalar("Re " + name)), im(rank.scalar("Im " + name)) {}
};

/// Exit test: a product whose vanishing ends the recurrence has lost all digits against `size`, its operands' (a,a) (b,b), or
/// a divisor vanished. The product is finished first: (r,r) may travel with it.
struct ConvergedNumbers {
  Get product_re, product_im, rr, divisor_re, divisor_im, size, target, bound;
  SORDINO_HD int test() const {
    double product = product_re * product_re + product_im * product_im;
    if (!(rr <= bound)) return blew_up;
    if (rr <= target) return met;  // whatever M makes of a residual that is gone
    if (product != product) return blew_up;
    bool lost = product <= 1e-30 * rr * size;
    return lost || (divisor_re == 0 && divisor_im == 0) ? broke_down : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

}  // namespace sordino
