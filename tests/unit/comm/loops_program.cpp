// The loop by which `bench comm` compares ways to run one, on the host: its residuals are those of conjugate gradients for the
// Laplacian of a cube, on any number of ranks, and a wrong one is noticed.
#include "sordino/comm/cuda/loops_program.hpp"

#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace sordino;

namespace {

constexpr int bits = 3, side = 1 << bits, rows = side * side * side, iterations = 12;

/// Of the whole cube, from coordinates.
std::vector<double> laplacian(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  auto at = [&](int a, int b, int c) {
    bool wall = a < 0 || b < 0 || c < 0 || a >= side || b >= side || c >= side;
    return wall ? 0.0 : x[std::size_t((c * side + b) * side + a)];
  };
  for (int c = 0; c < side; c++)
    for (int b = 0; b < side; b++)
      for (int a = 0; a < side; a++)
        y[std::size_t((c * side + b) * side + a)] = 6 * at(a, b, c) - at(a - 1, b, c) - at(a + 1, b, c) - at(a, b - 1, c) -
                                                    at(a, b + 1, c) - at(a, b, c - 1) - at(a, b, c + 1);
  return y;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
  return sum;
}

std::vector<double> serial_history() {
  std::vector<double> r, history;
  for (int i = 0; i < rows; i++) r.push_back(loops::charge(i));
  auto p = r;
  double rho = dot(r, r);
  for (int k = 0; k < iterations; k++) {
    auto q = laplacian(p);
    double alpha = rho / dot(p, q), before = rho;
    for (std::size_t i = 0; i < r.size(); i++) r[i] -= alpha * q[i];
    history.push_back(rho = dot(r, r));
    for (std::size_t i = 0; i < r.size(); i++) p[i] = r[i] + rho / before * p[i];
  }
  return history;
}

std::vector<double> recorded_history(int ranks, const std::function<void(Rank&)>& prepare = {}) {
  host::Options options;
  options.ranks = ranks;
  host::HostEngine engine(options);
  overlap::Stopwatch watch(ranks, 3, iterations);
  std::vector<double> history;
  engine.run([&](Rank& s) {
    if (prepare) prepare(s);
    auto mine = loops::cg(s, bits, watch);
    if (s.id() == 0) history = mine;
  });
  CHECK(watch.seconds[0].size() == 3);
  return history;
}

}  // namespace

TEST("loops: residuals are those of conjugate gradients, on any number of ranks and in every replay") {
  auto wanted = serial_history();
  for (int ranks : {1, 2, 4}) {
    NOTE(ranks, " ranks");
    loops::require_same_history(recorded_history(ranks), wanted, loops::first_sum(bits), iterations, "host");
  }
}

TEST("loops: planes that do not come are noticed, and so is a loop that ends early") {
  auto wanted = serial_history();
  double first = loops::first_sum(bits);
  auto deaf = [](Rank& s) {
    s.checking = false;
    s.mutate = [](Recording& r) {
      for (auto& c : r.commands) std::erase_if(c.phases, [](const Phase& p) { return p.op == Op::put || p.op == Op::await; });
    };
  };
  auto check = [&](const std::vector<double>& found) { loops::require_same_history(found, wanted, first, iterations, "host"); };
  CHECK_THROWS(check(recorded_history(2, deaf)), Error, "host: r'r after iteration");
  auto shorter = wanted;
  shorter.pop_back();
  CHECK_THROWS(check(shorter), Error, "host: 11 iterations, not 12");
  auto wrong = wanted;
  wrong[3] += 1e-9 * first;
  CHECK_THROWS(check(wrong), Error, "after iteration 4");
  wrong[3] = NAN;
  CHECK_THROWS(check(wrong), Error, "after iteration 4");
}
