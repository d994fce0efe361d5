#include "sordino/solvers/approach.hpp"

#include <cmath>

#include "check.hpp"

using namespace sordino;

namespace {

struct Looks {
  int count = 0, last = 0;
};

/// Looks at a residual that falls by `factor` an iteration, from 1, until it meets the target.
Looks looks_until(double target, double factor) {
  Approach approach(0, 1, target);
  Looks looks;
  for (double norm = 1; norm > target; looks.count++) {
    looks.last += approach.next();
    norm = std::pow(factor, looks.last);
    approach.seen(looks.last, norm);
  }
  return looks;
}

}  // namespace

TEST("a residual that falls steadily is met in its iteration, after few looks") {
  for (double factor : {0.5, 0.9, 0.97, 0.999})
    for (double target : {0.5, 1e-3, 1e-8}) {
      NOTE("factor ", factor, ", target ", target);
      int needed = int(std::ceil(std::log(target) / std::log(factor) - 1e-9));
      Looks looks = looks_until(target, factor);
      CHECK(looks.last == needed);
      CHECK(looks.count <= 8 + 3 * std::log2(needed + 1));
    }
}

TEST("where nothing is gained looks become rare, the rarer the farther the target, and a NaN is no rate") {
  for (auto [norm, target] : {std::pair{1.0, 1e-30}, {3.0, 1e-30}, {1.0, 1e-3}, {double(NAN), 1e-3}}) {
    Approach approach(10, 1, target);
    int iteration = 10, count = 0;
    for (; iteration < 10000; count++) {
      REQUIRE(approach.next() >= 1);
      iteration += approach.next();
      approach.seen(iteration, norm);
    }
    CHECK(count <= (target < 1e-12 ? 10 : 25));
  }
}

TEST(
    "a residual that no longer halves is noticed within two and a half times the iterations in which it did, a falling one "
    "never") {
  for (int falls : {30, 200, 700, 5000}) {
    NOTE("falls for ", falls);
    Plateau plateau(1);
    int done = 0;
    for (bool level = false; !level && done < 100000;) {
      std::vector<double> rr;
      for (int i = done, end = done + plateau.next(); i < end; i++) rr.push_back(std::exp2(-0.1 * std::min(i, falls)));
      done += int(rr.size());
      level = plateau.seen(int(rr.size()), rr);
    }
    CHECK(done > falls);
    CHECK(done <= 400 + 9 * falls / 4);
  }
  Plateau falling(1);
  for (int done = 0; done < 20000;) {
    std::vector<double> rr;  // swings by a factor of a thousand, and halves in a hundred iterations
    const int more = std::min(64, falling.next());
    for (int i = done; i < done + more; i++) rr.push_back(std::exp2(-0.02 * i) * (i % 7 == 0 ? 1 : 1e6));
    done += more;
    CHECK(!falling.seen(more, rr));
  }
}
