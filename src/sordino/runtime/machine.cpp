#include "sordino/runtime/machine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

#include "sordino/base/error.hpp"

namespace sordino {
namespace {

constexpr double most_interruptions = 1e6;  // a second: each costs the model engine a step

int doublings(int ranks) {
  int n = 0;
  for (long reached = 1; reached < ranks; reached *= 2) n++;
  return n;
}

[[noreturn]] void reject(const std::string& name, double value, const std::string& unit, const std::string& rule) {
  std::ostringstream text;
  text << "machine: " << name << " is " << value << " " << unit << ", and must be " << rule;
  bad_argument(text.str());
}

void require(double value, bool holds, const std::string& name, const std::string& unit, const std::string& rule) {
  if (!holds || !std::isfinite(value)) reject(name, value, unit, rule);
}

bool may_be_zero(const std::string& name, const Machine& m) {
  if (name == "memory_bandwidth" || name == "link_bandwidth" || name == "workers") return false;
  return name != "internode_bandwidth" || m.ranks_per_node == 0;  // unused where all ranks share a node
}

}  // namespace

double Machine::reduction(int ranks) const { return ranks == 1 ? 0 : reduction_base_s + reduction_hop_s * doublings(ranks); }

bool Machine::paced(const std::string& command) const {
  auto own = paces.find(command);
  return own != paces.end() && own->second.bandwidth > 0;
}

// Loads under way are so many, whichever they hit: what is found in the cache and what is not take turns.
double Machine::compute(const std::string& command, double bytes, double flop, double cached) const {
  double moving = paced(command) ? bytes / paces.at(command).bandwidth : (bytes - cached) / memory_bandwidth;
  if (cached > 0 && !paced(command)) moving += cached / cache.bandwidth;
  return flops > 0 ? std::max(moving, flop / flops) : moving;
}

double Machine::spread(const std::string& command) const {
  auto own = paces.find(command);
  return own == paces.end() ? 0 : own->second.spread;
}

void validate(const Machine& machine) {
  Machine::fields(machine, [&](const std::string& name, double value, const std::string& unit, const char*) {
    if (!std::isfinite(value)) reject(name, value, unit, "finite");
    if (value < 0) reject(name, value, unit, "at least 0");
    if (value == 0 && !may_be_zero(name, machine)) reject(name, value, unit, "positive");
  });
  for (auto& [command, pace] : machine.paces) {
    require(pace.bandwidth, pace.bandwidth >= 0, "the bandwidth of '" + command + "'", "B/s", "at least 0");
    require(pace.spread, pace.spread >= 0 && pace.spread <= 1, "the spread of '" + command + "'", "of its time", "from 0 to 1");
  }
  const Interruptions& i = machine.interruptions;
  require(i.hz, i.hz >= 0 && i.hz <= most_interruptions, "the number of interruptions", "a second", "from 0 to 1e+06");
  require(i.seconds, i.seconds >= 0, "an interruption", "s", "at least 0");
  require(i.share(), i.share() < 1, "the interrupted share", "of a rank's time", "less than 1");
  const Cache& c = machine.cache;
  require(c.bytes, c.bytes >= 0, "the size of the cache", "B", "at least 0");
  require(c.share, c.share > 0 && c.share <= 1, "the share of the cache that holds different data", "of it",
          "above 0 and at most 1");
  require(c.bandwidth, c.bandwidth > 0 || (c.bytes == 0 && c.bandwidth == 0), "the bandwidth of the cache", "B/s", "positive");
  require(machine.push_s, machine.push_s >= 0, "push_s", "s", "at least 0");
  const LateBlocks& late = machine.late_blocks;
  require(late.rows, late.rows >= 0, "the rows of late blocks", "rows", "at least 0");
  require(late.seconds, late.seconds >= 0, "how late blocks are", "s", "at least 0");
  const TriangularTasks& t = machine.triangular;
  require(t.workers, t.workers >= 1, "the number of workers of triangular solves", "thread blocks", "at least 1");
  require(t.backward, t.backward > 0 && t.backward <= 1, "the part of bandwidth on the way back of triangular solves", "",
          "above 0 and at most 1");
  for (auto [name, value] : {std::pair{"bandwidth", t.bandwidth}, std::pair{"worker_bandwidth", t.worker_bandwidth},
                             std::pair{"step_s", t.step_s}, std::pair{"round_s", t.round_s},
                             std::pair{"small_block_s", t.small_block_s}, std::pair{"small_block_back_s", t.small_block_back_s},
                             std::pair{"flag_s", t.flag_s}, std::pair{"message_s", t.message_s}, std::pair{"column", t.column}})
    require(value, value >= 0, std::string(name) + " of triangular solves", "", "at least 0");
}

Machine machine_from(const std::map<std::string, double>& numbers) {
  Machine machine;
  std::string known;
  std::size_t taken = 0;
  Machine::fields(machine, [&](const std::string& name, auto& value, const std::string& unit, const char*) {
    known += (known.empty() ? "" : ", ") + name;
    auto given = numbers.find(name);
    if (given == numbers.end()) bad_argument("machine: " + name + " is missing");
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, int>) {
      double whole = given->second;
      if (!(std::abs(whole) <= std::numeric_limits<int>::max()) || whole != std::floor(whole))
        reject(name, whole, unit, "a whole number");
      value = int(whole);
    } else {
      value = given->second;
    }
    taken++;
  });
  if (taken != numbers.size())
    for (auto& [name, value] : numbers)
      if ((", " + known + ",").find(", " + name + ",") == std::string::npos)
        bad_argument("machine: there is no '" + name + "'; there are " + known);
  validate(machine);
  return machine;
}

}  // namespace sordino
