// A rank that never comes back may still read the rows: what holds them stays.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"
#include "sordino/api/rows_solver.hpp"
#include "sordino/linalg/poisson.hpp"

using namespace sordino;

namespace {

/// To a second process that there is not. The first rank that sends anything there never comes back.
class Swallowing final : public Transport {
 public:
  explicit Swallowing(int ranks) : ranks_{ranks, ranks} {}
  const char* name() const override { return "swallowing"; }
  int processes() const override { return 2; }
  int process() const override { return 0; }
  const std::vector<int>& ranks_of_processes() const override { return ranks_; }
  void send(int, const Message& header, const void*, std::size_t) override {
    if (header.kind != Message::host_data || swallowed_.exchange(true)) return;
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  int poll(const Deliver&) override { return 0; }
  bool all_sent() override { return true; }

 private:
  std::vector<int> ranks_;
  std::atomic<bool> swallowed_{false};
};

/// The first of two processes; the other one agrees with all, and has rows of its own.
class Halves final : public Processes {
 public:
  explicit Halves(i64 n) : n_(n) {}
  int count() const override { return 2; }
  int index() const override { return 0; }
  bool reaches_devices() const override { return false; }
  void barrier() override {}
  void add(double*, i64) override {}
  void gather(double*, i64) override {}
  void most(std::vector<double>& values) override {
    if (values.size() == 2 && values[1] == 0) values[1] = double(n_);  // where the rows of each process end
  }
  std::unique_ptr<Hall> hall(int, bool) override { return nullptr; }
  std::unique_ptr<Transport> transport(int ranks) override { return std::make_unique<Swallowing>(ranks); }

 private:
  i64 n_;
};

}  // namespace

TEST("what holds the rows goes with their solver, and stays where a rank was lost") {
  auto whole = std::make_shared<CsrMatrix>(poisson(4, 4, 4, 7, 1.0));
  std::weak_ptr<CsrMatrix> seen = whole;
  Options o;
  o.engine = "host", o.solver = "cg", o.ranks = 2, o.timeout = 0.3;
  CsrView rows = whole->view();
  {
    RowsSolver solver(rows, o, Accord(nullptr), std::move(whole));
    CHECK(!seen.expired());
  }
  CHECK(seen.expired());

  whole = std::make_shared<CsrMatrix>(poisson(4, 4, 4, 7, 1.0));
  seen = whole;
  rows = whole->view();
  rows.held = 32;
  CHECK_THROWS(RowsSolver(rows, o, Accord(std::make_unique<Halves>(64)), std::move(whole)), Error, "without any progress");
  CHECK(!seen.expired());
}
