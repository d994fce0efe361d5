// Solvers of several threads of one program.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"
#include "conformance/problems.hpp"

using namespace problems;

namespace {

/// Two that wait for each other: one after the other they would not meet.
struct Meeting {
  std::atomic<int> there{0};
  bool meets() {
    there++;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (there < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return there == 2;
  }
};

}  // namespace

TEST("two solvers solve at the same time in two threads, and do not disturb each other") {
  CsrMatrix A = poisson(9, 8, 7, 7, 1.0);
  for (const char* engine : {"host", "model"}) {
    NOTE(engine);
    std::vector<double> b(std::size_t(A.n), 1.0), expected(b.size());
    Solver(A.view(), options("cg", engine, 2)).solve(b.data(), expected.data());
    Meeting meeting;
    std::atomic<int> met{0};
    std::vector<double> x[2];
    auto work = [&](int number) {
      x[number].resize(b.size());
      System system{.A = A.view()};
      system.watch.every = 1;
      system.watch.look = [&, first = true](int, double, const double*) mutable {
        if (std::exchange(first, false)) met += meeting.meets();
      };
      Solver(system, options("cg", engine, 2)).solve(b.data(), x[number].data());
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    CHECK(met == 2);
    for (auto& found : x) CHECK(same_bits(found, expected));
  }
}
