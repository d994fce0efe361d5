// What `bench comm --engine cuda` measures of messages, exchange paths, events, overlap and loops, in few rounds: they check
// what they have moved and computed, and throw. And the parts that they are made of.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sordino/comm/cuda/all_sum.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/lanes.hpp"
#include "sordino/comm/cuda/measure.hpp"
#include "team.hpp"

using namespace sordino;
using cuda::CommFigure, cuda::Team, cuda::TeamRank;

namespace {

int most_ranks() { return test::waiting_ranks().back(); }
/// A pair, and as many as there are.
std::vector<int> few_and_many() { return most_ranks() > 2 ? std::vector<int>{2, most_ranks()} : std::vector<int>{2}; }

/// Runs a measurement in few rounds. Every line has a time, or is the one that says why there is none: too few devices.
std::vector<CommFigure> measured(const std::string& name, i64 epochs, const std::vector<int>& ranks, cuda::CommPlan plan = {},
                                 int devices_needed = 2) {
  plan.epochs = epochs;
  plan.ranks = ranks;
  auto figures = cuda::measure_comm(name, plan);
  bool possible = most_ranks() >= devices_needed;
  CHECK(possible ? figures.size() > 1 : figures.size() == 1);
  std::set<std::string> lines;
  for (auto& f : figures) {
    NOTE(f.way, ", ", f.ranks, " ranks, ", f.bytes, " bytes: ", f.remark);
    CHECK(f.what == name);
    CHECK((f.median > 0) == possible);
    CHECK(possible || f.remark.find("two devices") != std::string::npos);
    CHECK(lines
              .insert(f.way + "/" + std::to_string(f.ranks) + "/" + std::to_string(f.bytes) +
                      (name == "exchange-paths" ? f.remark : ""))
              .second);
  }
  return figures;
}

constexpr int message_sizes = 9;

/// Times messages and broadcasts over `carrier`, and looks for all of their lines.
void check_messages(const cuda::CommPlan& plan, const std::string& carrier) {
  std::map<std::string, std::vector<CommFigure>> lines;
  for (auto& f : measured("messages", 1, {2}, plan)) lines[f.way].push_back(f);
  for (auto& f : measured("broadcast", 1, {2}, plan)) lines[f.way].push_back(f);
  for (const char* pattern : {"to and fro", "one way", "both ways at once", "to all, and a sum that says so"}) {
    auto& of_pattern = lines[pattern + (", by " + carrier)];
    NOTE(pattern, ", by ", carrier);
    REQUIRE(of_pattern.size() == message_sizes);
    CHECK(of_pattern.front().bytes == 8);
    CHECK(of_pattern.back().bytes == 64 << 20);
    for (auto& f : of_pattern) {
      CHECK(f.ranks == 2);
      CHECK(f.samples == 1);
      CHECK(f.bandwidth > 0);
      CHECK(f.remark == "1 process of 2 GPUs");
    }
  }
  CHECK(lines.size() == 4);
}

/// Three sums of vectors that change in between; exactly.
void check_all_sum(Team& team, i64 part) {
  const int ranks = team.size();
  const i64 words = part * ranks;
  cuda::AllSum sum = cuda::make_all_sum(team);
  auto x = team.array<double>(words), whole = team.array<double>(words);
  for (int round = 0; round < 3; round++) {
    std::vector<double> wanted(std::size_t(words), 0.0), found(wanted);
    for (int r = 0; r < ranks; r++) {
      auto mine = test::random_values(words, 10 * round + r);
      for (i64 i = 0; i < words; i++) wanted[std::size_t(i)] += mine[std::size_t(i)];
      team.write(r, x, mine.data(), words);
    }
    team.run([&](TeamRank& rank) {
      cuda::load_all_sum(rank);
      rank.barrier();
      for (int again = 0; again < 2; again++) cuda::all_sum(rank, sum, x, whole, part);
    });
    for (int r = 0; r < ranks; r++) {
      NOTE("round ", round, ", rank ", r);
      team.read(r, whole, found.data(), words);
      CHECK(found == wanted);
    }
  }
}

}  // namespace

TEST("messages and broadcasts are timed the straight way and through host memory, and every word is right") {
  if (most_ranks() < 2) SKIP("takes two devices that reach each other");
  check_messages({}, name_of(test::cuda_engine(2)->carrier(0, 1)));
  cuda::CommPlan plan;
  plan.links = cuda::Links::host;
  check_messages(plan, "host memory");
}

TEST("messages and broadcasts are timed over NCCL, too") {
  test::need_nccl();
  cuda::CommPlan plan;
  plan.links = cuda::Links::nccl;
  plan.nccl = test::by_nccl().nccl;
  check_messages(plan, "nccl");
}

TEST("a broadcast is timed to as many GPUs as are asked for") {
  std::set<int> ranks;
  for (auto& f : measured("broadcast", 1, few_and_many())) ranks.insert(f.ranks);
  if (most_ranks() > 1) CHECK(ranks == std::set<int>{2, most_ranks()});
}

TEST("where there is one GPU, a line says what is missing") {
  test::need_gpu();
  cuda::CommPlan plan;
  plan.devices = {0};
  for (const char* name : {"messages", "broadcast"}) {
    auto figures = cuda::measure_comm(name, plan);
    REQUIRE(figures.size() == 1);
    CHECK(figures[0].median == 0);
    CHECK(figures[0].remark.find("two devices") != std::string::npos);
  }
}

TEST("a way between GPUs is refused where the measurement has its own") {
  cuda::CommPlan plan;
  plan.links = cuda::Links::nccl;
  CHECK_THROWS(cuda::measure_comm("put", plan), Error, "measurement 'put' has its own ways between GPUs");
  CHECK(cuda::comm_measurements(false, true) == std::vector<std::string>{"messages", "broadcast"});
}

TEST("exchange paths are measured, and leave the right words") {
  bool several = most_ranks() > 1;
  std::set<std::string> ways;
  for (auto& f : measured("exchange-paths", 1, few_and_many())) ways.insert(f.way);
  for (const char* way : {"set", "copy", "peer", "copy, peer access off", "our all-gather"}) CHECK(ways.count(way) == several);
}

TEST("chains driven by events, and by synchronisations, compute the same") {
  bool several = most_ranks() > 1;
  std::set<std::string> ways;
  for (auto& f : measured("events", 20, few_and_many())) ways.insert(f.way);
  CHECK(ways.size() == (several ? 4u : 1u));
}

TEST("overlap is measured, and its programs compute what they must on GPUs") { measured("overlap", 20, {most_ranks()}); }

TEST("device tasks are timed beside functors, in every way that a loop runs, and count as far") {
  test::need_gpu();
  auto figures = measured("device-tasks", 60, {1}, {}, 1);
  CHECK(figures.size() == 9);
  for (auto& f : figures) CHECK(f.median > 0);
}

TEST("whoever collects sums gets the same ones, and a chain's stamps lie in its order") {
  test::need_gpu();
  cuda::CommPlan plan;
  plan.epochs = 20;
  plan.ranks = {1, 2, 4};
  std::map<std::string, double> when;  // seconds
  int least = 1 << 30;
  for (auto& f : cuda::measure_comm("collectors", plan)) {
    NOTE(f.way, ", ", f.ranks, " ranks: ", f.median * 1e6, " us, ", f.remark);
    CHECK(f.what == "collectors");
    CHECK(f.samples > 0);
    CHECK(std::abs(f.median) < 1);  // a stamp of another epoch would be far off
    CHECK(when.insert({f.way + "/" + std::to_string(f.ranks), f.median}).second);
    least = std::min(least, f.ranks);
  }
  auto rises = [&](const std::string& chain, const std::vector<std::string>& points) {
    double before = -1;  // seconds; an iteration begins with its work
    for (auto& p : points) {
      auto found = when.find("65536 rows, " + chain + ": " + p + "/" + std::to_string(least));
      NOTE(chain, ": ", p);
      REQUIRE(found != when.end());
      CHECK(found->second >= before);
      before = found->second;
    }
  };
  const std::string seen = "the block that collects has seen all", sent = "the sums are sent",
                    next = "the next one's first block is past the wait", worked = "the rows of the work end";
  rises("the last block collects, no work", {"its last block has the sums", "its rows end", seen, sent, "its last block ends"});
  rises("the last block collects, behind work", {"the first block of the work is past the wait", worked, sent, next});
  rises("a block of the next kernel collects, no work", {"its rows end", seen, sent});
  rises("a block of the next kernel collects, behind work", {seen, sent, worked, "its rows end", next});
}

TEST("loops run in six ways, and all come to the same residuals") {
  test::need_gpu();
  cuda::CommPlan plan;
  plan.epochs = 30;
  plan.ranks = {1, 2, 4};
  auto figures = cuda::time_loops_of(plan, {4, 5});
  std::set<std::string> ways;
  for (auto& f : figures) {
    NOTE(f.way, ", ", f.ranks, " ranks: ", f.remark);
    CHECK(f.what == "loops");
    CHECK(f.samples == 1);
    CHECK(f.median > 0);
    CHECK(ways.insert(f.way + "/" + std::to_string(f.ranks)).second);
  }
  CHECK(ways.count("16^3, a kernel that stays, direction in product/1") == 1);
  CHECK(figures.size() % 12 == 0);  // two cubes
}

TEST("a cube that cannot be cut into slabs of two planes is not measured, and a line says so") {
  test::need_gpu();
  cuda::CommPlan plan;
  plan.ranks = {1};
  auto figures = cuda::time_loops_of(plan, {0});
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].median == 0);
  CHECK(!figures[0].remark.empty());
}

TEST("a sum of long vectors is that of all ranks, in their order, whatever their length") {
  for (int ranks : test::waiting_ranks()) {
    if (ranks == 1) continue;
    for (i64 part : {1, 7, 1000, 300'001}) {
      NOTE(ranks, " ranks, ", part, " words each");
      cuda::TeamOptions options = test::team_options(ranks);
      options.window = std::size_t(part) * std::size_t(ranks) * 16 + (1 << 20);
      Team team(options);
      check_all_sum(team, part);
    }
  }
}

TEST("without peer access copies arrive, and afterwards kernels reach the others' memory again") {
  if (most_ranks() < 2) SKIP("takes two devices that reach each other");
  constexpr i64 words = 10'000;
  Team team(test::team_options(2));
  cuda::Lanes lanes(team, 10);
  auto from = team.array<double>(words), to = team.array<double>(words);
  auto sent = test::random_values(words, 3);
  team.write(0, from, sent.data(), words);
  {
    cuda::WithoutPeers off(lanes);
    cudaMemcpyAsync(team.on(1).mine(to), team.on(0).mine(from), words * 8, cudaMemcpyDefault, lanes[0]);
    lanes.wait();
  }
  std::vector<double> found(std::size_t(words), 0.0);
  team.read(1, to, found.data(), words);
  CHECK(found == sent);
  check_all_sum(team, 1000);
}
