// A process of several that dies, or is stopped, in the middle of a long solve: all survivors end with the same cause, in
// bounded time. The processes are this one and children of it that run one of these tests; no launcher takes part.
#include <chrono>
#include <cstdio>

#include "grid.hpp"
#include "spawned.hpp"

using namespace sordino;
using namespace spawned;
using test::Cg;

namespace {

constexpr const char* child_test = "lost process: a child of the tests below";

/// Solves without an end. Returns what ended it.
std::string endless(std::unique_ptr<Hall> hall, const Setting& s, const std::function<void()>& meanwhile = {}) {
  try {
    cuda::CudaEngine engine(options_of(s, gpus()), std::move(hall));
    engine.run(
        [](Rank& rank) {
          Cg cg(rank, 24, 24, 24, 10);
          auto b = cg.right_hand_side();
          for (;;) cg.solve(b.data(), 0, 200);
        },
        meanwhile);
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing";
}

/// The last process gets a signal while all solve. Checks that all others say the same, and returns it.
std::string ended_by(int signal, const std::vector<int>& ranks, double patience, double most_seconds, bool nccl = false) {
  Setting s;
  s.nccl = nccl;
  s.patience = patience;
  s.ranks = ranks;
  auto hall = Hall::make(ranks);
  s.name = hall->name();
  Hall* here = hall.get();
  Children children(s, child_test);
  int last = int(ranks.size()) - 1;
  bool sent = false;
  u64 first_beats = 0;
  auto begin = std::chrono::steady_clock::now(), sent_at = begin;
  auto meanwhile = [&] {
    if (first_beats == 0) here->remove_name(), first_beats = here->heartbeats() + 1;
    auto now = std::chrono::steady_clock::now();
    if (sent || now - begin > std::chrono::seconds(60)) return;
    if (here->heartbeats() < first_beats + 100) return;  // until all are well under way
    children.send(last, signal);
    sent = true;
    sent_at = now;
  };
  std::string cause = endless(std::move(hall), s, meanwhile);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - sent_at).count();
  NOTE("process 0 says: ", cause, ", ", seconds, " s after the signal");
  CHECK(sent);
  CHECK(seconds < most_seconds);
  for (int p = 1; p < last; p++) {
    std::string said = children.said_by(p);
    NOTE("process ", p, " says: ", said);
    CHECK(said.find("ended by: " + cause + "\n") != std::string::npos);
  }
  return cause;
}

void works() {
  auto gpu = test::cuda_engine(2);
  gpu->run(
      [](Rank& rank) {
        Cg cg(rank, 16, 16, 16, 10);
        CHECK(cg.solve(cg.right_hand_side().data(), 1e-10, 300).verdict == met);
      },
      {});
}

}  // namespace

TEST("lost process: a child of the tests below") {
  Setting s = setting_of_child();
  std::string cause = endless(Hall::enter(s.name, s.ranks, s.process), s);
  std::printf("ended by: %s\n", cause.c_str());
  std::fflush(stdout);
}

TEST("lost process: one that is killed is named by all others, and the GPUs work for new ones") {
  test::need_gpu();
  for (auto& ranks : layouts()) {
    NOTE("layout ", check::text(ranks));
    std::string cause = ended_by(SIGKILL, ranks, 10, 8);
    int all = 0;
    for (int n : ranks) all += n;
    std::string lost = ranks.back() == 1
                           ? "rank " + std::to_string(all - 1) + " is lost: process "
                           : "ranks " + std::to_string(all - 2) + " to " + std::to_string(all - 1) + " are lost: ";
    CHECK(cause.starts_with(lost));
    CHECK(cause.ends_with(", has died"));
    works();
  }
}

TEST("lost process: one that is stopped ends the patience of all others, who say the same") {
  test::need_gpu();
  std::string cause = ended_by(SIGSTOP, layouts()[0], 2, 20);
  CHECK(cause.find("waited 2 s without any progress for ") != std::string::npos);
  works();
}

TEST("lost process: one that is killed among NCCL's messages is named by all others") {
  test::need_nccl();
  std::string cause = ended_by(SIGKILL, layouts()[0], 10, 12, true);
  CHECK(cause.starts_with("rank " + std::to_string(layouts()[0].size() - 1) + " is lost: process "));
  works();
}

TEST("lost process: one that is stopped among NCCL's messages ends the patience of all others, who say the same") {
  test::need_nccl();
  std::string cause = ended_by(SIGSTOP, layouts()[0], 2, 20, true);
  CHECK(cause.find("waited 2 s without any progress for ") != std::string::npos);
  works();
}
