#include "sordino/lattice/measure.hpp"

#include <algorithm>
#include <cmath>

namespace sordino::lattice {
namespace {

double norm2(const Spinor<double>& psi) {
  double sum = 0;
  for (auto& s : psi.s)
    for (auto& z : s.c) sum += z.re * z.re + z.im * z.im;
  return sum;
}

/// <a, gamma_5 b>
Complex<double> inner5(const Spinor<double>& a, const Spinor<double>& b) {
  Complex<double> sum;
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) sum = sum + conj(a.s[s].c[c]) * b.s[s].c[c] * (s < 2 ? 1.0 : -1.0);
  return sum;
}

}  // namespace

SiteBytes site_bytes(Precision precision, int reals) {
  double real = precision == Precision::double_precision ? 8 : 4;
  return {8 * reals * real + 8 * 24 * real, 8 * reals * real + 2 * 24 * real};
}

Hops time_hops(Rank& rank, const Box& box, const std::shared_ptr<const LinkField>& links, const Source& source, int pairs) {
  Dslash d(rank, box, links, 1);
  Vec even = d.field(rank, "even"), odd = d.field(rank, "odd");
  Recorded loop = rank.loop({}, [&] {
    d.apply(rank, {.x = even, .y = odd}, 0.125, 1);
    d.apply(rank, {.x = odd, .y = even}, 0.125, 0);
  });
  auto words = d.pack(rank, source, 0);
  auto run = [&](int count) {
    if (!words.empty()) rank.write(even, words.data());
    rank.engine().barrier(rank);
    double begin = rank.engine().now(rank);
    rank.replay(loop, count);
    return rank.engine().now(rank) - begin;
  };
  run(std::min(pairs, 10));  // warms up: graphs, caches, clocks
  Ledger before = rank.ledger;
  Hops out;
  double seconds = run(pairs);
  out.seconds = seconds / (2.0 * pairs);
  out.ledger = difference(rank.ledger, before);
  out.ledger.time = seconds;
  return out;
}

void Hermiticity::operator+=(const Hermiticity& o) {
  left = left + o.left;
  right = right + o.right;
  xx += o.xx;
  yy += o.yy;
}

double Hermiticity::error() const {  // std::hypot asks for a newer glibc than everything else here
  double re = left.re - right.re, im = left.im + right.im;
  return std::sqrt((re * re + im * im) / (xx * yy));
}

Hermiticity check_hermiticity(Rank& rank, const Box& box, const std::shared_ptr<const LinkField>& links, double kappa,
                              const Source& x, const Source& y) {
  Dslash d(rank, box, links, 2);
  Vec from = d.field(rank, "from"), to = d.field(rank, "to");
  Recorded apply = rank.record([&] { d.apply(rank, {.x = from, .y = to, .z = from}, -kappa); });
  Hermiticity sum;
  std::vector<double> words(std::size_t(rank.space(d.space()).rows));
  auto image = [&](const Source& source, auto add) {  // add(x, psi): psi = M source at site x
    rank.write(from, d.pack(rank, source).data());
    rank.replay(apply);
    rank.read(to, words.data());
    d.unpack(words, add);
  };
  image(y, [&](const Coords& at, const Spinor<double>& My) {
    sum.left = sum.left + inner5(x(at), My);
    sum.xx += norm2(x(at));
  });
  image(x, [&](const Coords& at, const Spinor<double>& Mx) {
    sum.right = sum.right + inner5(y(at), Mx);
    sum.yy += norm2(y(at));
  });
  return sum;
}

}  // namespace sordino::lattice
