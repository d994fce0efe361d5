// The programs by which `bench comm` measures overlap, on a described machine: what they are to show is there to be shown.
#include <algorithm>

#include "check.hpp"
#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/runtime/model/engine.hpp"

using namespace sordino;

namespace {

constexpr double us = 1e-6, tiny = 1e-12, latency = 3 * us;
using Timed = std::function<void(Rank&, const overlap::Shape&, overlap::Stopwatch&)>;

/// Seconds of an iteration, of the slowest of 4 ranks. A row of 16 bytes takes a nanosecond, a message or a sum 3 us.
double seconds(const Timed& program, const overlap::Shape& shape) {
  model::Options o;
  o.ranks = 4;
  o.machine.launch_s = o.machine.put_overhead_s = 0;
  o.machine.memory_bandwidth = 16e9;
  o.machine.reduction_base_s = o.machine.link_latency_s = latency;
  o.machine.link_bandwidth = 1e18;
  model::ModelEngine engine(o);
  overlap::Stopwatch watch(4, 1, 100);
  engine.run([&](Rank& s) { program(s, shape, watch); });
  double most = 0;
  for (auto& of_rank : watch.seconds) most = std::max(most, of_rank[0]);
  return most;
}

}  // namespace

TEST("work twice as long as a message hides it, in every program that is measured, and there is something to hide") {
  auto with = [](bool ahead) {
    return [ahead](Rank& s, const overlap::Shape& k, overlap::Stopwatch& w) { overlap::gather(s, k, ahead, w); };
  };
  const std::pair<const char*, Timed> programs[] = {{"halo", overlap::halo},
                                                    {"halo in one", overlap::halo_in_one},
                                                    {"sums", overlap::reduction},
                                                    {"gather", with(false)},
                                                    {"gather, ahead", with(true)}};
  for (auto& [name, program] : programs) {
    NOTE(name);
    double messages = seconds(program, {true, 8, 0}), neither = seconds(program, {false, 8, 0});
    double work = seconds(program, {false, 8, 20'000}), both = seconds(program, {true, 8, 20'000});
    NOTE("us: ", messages / us, " ", neither / us, " ", work / us, " ", both / us);
    CHECK(messages - neither > 0.9 * latency);
    CHECK(both - work < 0.05 * latency);
  }
}

TEST("rows of arithmetic have the values of all others, and take as long as their flops") {
  model::Options o;
  o.ranks = 2;
  o.machine.flops = 1e9;
  auto seconds_with = [&](i32 polish) {
    model::ModelEngine engine(o);
    overlap::Stopwatch watch(2, 1, 50);
    engine.run([&](Rank& s) { overlap::halo(s, {true, 8, 1000, polish}, watch); });  // throws if a value is wrong
    return watch.seconds[0][0];
  };
  double few = seconds_with(100), many = seconds_with(300);
  CHECK(std::abs(many - few - 1000 * 400 / 1e9) < 0.02 * (many - few));
}

TEST("a sum of vectors takes two messages and a reduction, one behind the other") {
  double sums = seconds(overlap::vector_sum, {.words = 8});
  NOTE("us: ", sums / us);
  CHECK(sums > 2.9 * latency);
  CHECK(sums < 3.2 * latency);
}
