// The cuda engine over several processes without a launcher: each process is told the name of the hall. Messages arrive, and
// solves have the bits of as many ranks in one process.
#include <bit>
#include <cstdio>

#include "grid.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "spawned.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;
using namespace spawned;
using test::Cg;

namespace {

constexpr const char* child_test = "spawned processes: a child of the test below";

/// The bits of history and solution of this process's ranks, a line for each.
std::vector<std::string> solved(Engine& engine) {
  std::vector<std::string> lines(std::size_t(engine.local_ranks()));
  engine.run(
      [&](Rank& rank) {
        Cg cg(rank, 24, 22, 26, 100);
        for (int k = 0; k < 3; k++) cg.solve(cg.right_hand_side().data(), 1e-10, 300);
        u64 bits = 14695981039346656037u;  // FNV-1a
        auto add = [&](const std::vector<double>& values) {
          for (double v : values) bits = (bits ^ std::bit_cast<u64>(v)) * 1099511628211u;
        };
        add(rank.history);
        add(cg.solution());
        lines[std::size_t(rank.id() - engine.first_rank())] = "rank " + std::to_string(rank.id()) + " after " +
                                                              std::to_string(rank.history.size()) + " tests has the bits " +
                                                              std::to_string(bits) + "\n";
      },
      {});
  return lines;
}

std::vector<std::string> work(const Setting& s, std::unique_ptr<Hall> hall) {
  cuda::enable(traffic::Kernels{});
  Hall& here = *hall;
  cuda::CudaEngine engine(options_of(s, gpus()), std::move(hall));
  here.remove_name();
  traffic::ring(engine);
  traffic::collectives(engine);
  traffic::sums(engine);
  return solved(engine);
}

void compare_with_one_process(bool nccl) {
  for (auto& ranks : layouts()) {
    NOTE("layout ", check::text(ranks));
    Setting s;
    s.patience = 20;
    s.nccl = nccl;
    s.ranks = ranks;
    auto hall = Hall::make(ranks);
    s.name = hall->name();
    int all = hall->ranks();
    Children children(s, child_test);
    std::string said;
    for (auto& line : work(s, std::move(hall))) said += line;
    for (int p = 1; p < int(ranks.size()); p++) {
      std::string text = children.said_by(p);
      NOTE("process ", p, " says: ", text);
      CHECK(text.ends_with("1 passed, 0 failed, 0 skipped\n"));
      said += text;
    }
    cuda::Options o = options_of(s, gpus());
    o.links = cuda::Links::automatic;
    o.ranks = all;
    cuda::CudaEngine alone(o);
    for (auto& line : solved(alone)) {
      NOTE("one process: ", line);
      CHECK(said.find(line) != std::string::npos);
    }
  }
}

}  // namespace

TEST("spawned processes: a child of the test below") {
  Setting s = setting_of_child();
  for (auto& line : work(s, Hall::enter(s.name, s.ranks, s.process))) std::printf("%s", line.c_str());
}

TEST("spawned processes: messages arrive, and solves have the bits of one process") {
  test::need_gpu();
  compare_with_one_process(false);
}

TEST("spawned processes: over NCCL, too") {
  test::need_nccl();
  compare_with_one_process(true);
}
