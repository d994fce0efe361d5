// A loop that is replayed in stretches does what it does in one, whatever is replayed between them.
#include <cmath>

#include "check.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

struct Normalise {  // u = v / ||v||
  Get vv;
  In v;
  Out u;
  SORDINO_HD void row(i32 i) { u[i] = v[i] / std::sqrt(double(vv)); }
};

/// The power method on a stencil, as a loop that carries the rows of u to its next iteration, or a sum.
struct Power {
  Rank& s;
  CsrOperator A;
  Vec u = A.operand(s, "u"), v = A.result(s, "v"), x = A.operand(s, "x"), y = A.result(s, "y");
  Scal vv = s.scalar("(v,v)"), yy = s.scalar("(y,y)");
  Recorded begin, loop, between;

  Power(Rank& rank, const CsrView& matrix, bool carries_sum) : s(rank), A(rank, matrix, balance(matrix, rank.size())) {
    auto product = [&] { A.apply(s, u, v, start(dot(v, v) >> vv)); };
    auto step = [&] { s.run(Normalise{.vv = finish(vv), .v = v, .u = u}, push(u)); };
    begin = s.record([&] {
      s.run(Nothing{}, push(u));
      if (carries_sum) product();
    });
    loop = s.loop({}, [&] {
      carries_sum ? step() : product();
      carries_sum ? product() : step();
    });
    between = s.record([&] {
      s.run(Nothing{}, push(x));
      A.apply(s, x, y, start(dot(y, y) >> yy));
      s.wait(yy);
    });
  }
  void begin_from(const std::vector<double>& from) {
    s.write(u, from.data() + s.space(A.space()).first_row);
    s.write(x, from.data() + s.space(A.space()).first_row);
    s.replay(begin);
  }
};

std::vector<double> after(Engine& engine, const CsrView& A, bool carries_sum, const std::vector<int>& stretches) {
  std::vector<double> from(std::size_t(A.n), 1.0), found(from.size());
  engine.run([&](Rank& s) {
    Power k(s, A, carries_sum);
    double before = 0;
    for (int round = 0; round < 2; round++) {  // what is dropped at the end leaves the next round alone
      k.begin_from(from);
      for (int most : stretches) {
        Outcome o = s.replay_stretch(k.loop, most);
        CHECK(o.iterations == most);
        s.replay(k.between);
        if (before != 0) CHECK(s.get(k.yy) == before);
        before = s.get(k.yy);
      }
      s.drop_carried(k.loop);
    }
    s.read(k.u, found.data() + s.space(k.A.space()).first_row);
  });
  return found;
}

}  // namespace

TEST("stretches of a loop, with other recordings between them, have the bits of the whole") {
  CsrMatrix A = poisson(7, 6, 9, 7, 30);
  for (bool carries_sum : {false, true})
    for (int ranks : {1, 2, 3})
      for (bool model : {false, true}) {
        NOTE(carries_sum ? "a sum" : "rows", " carried, ranks = ", ranks, model ? ", model" : ", host");
        auto run = [&](const std::vector<int>& stretches) {
          host::HostEngine host({.ranks = ranks, .timeout = 20});
          model::Options o;
          o.ranks = ranks;
          model::ModelEngine described(o);
          return after(model ? static_cast<Engine&>(described) : host, A.view(), carries_sum, stretches);
        };
        auto whole = run({9});
        for (auto& stretches : {std::vector<int>{1, 8}, {4, 1, 1, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}})
          CHECK(run(stretches) == whole);
        CHECK(run({8}) != whole);
      }
}
