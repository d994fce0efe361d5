// The parts of the model engine, each alone: machine, shared device, agenda, noise, fibers.
#include <map>
#include <set>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/runtime/model/agenda.hpp"
#include "sordino/runtime/model/device.hpp"
#include "sordino/runtime/model/fiber.hpp"

using namespace sordino;
using namespace sordino::model;

namespace {

std::map<std::string, double> numbers_of(const Machine& machine) {
  std::map<std::string, double> all;
  Machine::fields(machine, [&](const char* name, double value, const char*, const char*) { all[name] = value; });
  return all;
}

}  // namespace

TEST("a machine comes back from its names and numbers") {
  Machine m;
  m.launch_s = 3e-6;
  m.ranks_per_node = 6;
  auto numbers = numbers_of(m);
  CHECK(numbers.size() == 17);
  CHECK(numbers_of(machine_from(numbers)) == numbers);
}

TEST("a bad machine is refused with one sentence") {
  auto with = [](const char* name, double value) {
    auto numbers = numbers_of(Machine{});
    numbers[name] = value;
    return machine_from(numbers);
  };
  CHECK_THROWS(with("memory_bandwidth", 0), Error, "machine: memory_bandwidth is 0 B/s, and must be positive");
  CHECK_THROWS(with("link_bandwidth", -1), Error, "link_bandwidth is -1 B/s, and must be at least 0");
  CHECK_THROWS(with("launch_s", std::nan("")), Error, "launch_s is nan s, and must be finite");
  CHECK_THROWS(with("workers", 0), Error, "workers is 0 task groups, and must be positive");
  CHECK_THROWS(with("workers", 1.5), Error, "workers is 1.5 task groups, and must be a whole number");
  CHECK_THROWS(with("lunch_s", 1), Error, "there is no 'lunch_s'; there are launch_s, memory_bandwidth");
  auto numbers = numbers_of(Machine{});
  numbers.erase("jitter_s");
  CHECK_THROWS(machine_from(numbers), Error, "machine: jitter_s is missing");
  with("internode_bandwidth", 0);  // fine while all ranks share a node
  numbers = numbers_of(Machine{});
  numbers["internode_bandwidth"] = 0;
  numbers["ranks_per_node"] = 4;
  CHECK_THROWS(machine_from(numbers), Error, "internode_bandwidth is 0 B/s");
}

TEST("a reduction takes a hop for each doubling of the ranks") {
  Machine m;
  m.reduction_base_s = 10;
  m.reduction_hop_s = 1;
  CHECK(m.reduction(1) == 0);
  CHECK(m.reduction(2) == 11);
  CHECK(m.reduction(3) == 12);
  CHECK(m.reduction(4) == 12);
  CHECK(m.reduction(4096) == 22);
  CHECK(m.reduction(4097) == 23);
}

TEST("work is limited by memory or by arithmetic") {
  Machine m;
  m.memory_bandwidth = 10;
  CHECK(m.compute("any", 100, 1e9) == 10);
  m.flops = 5;
  CHECK(m.compute("any", 100, 100) == 20);
}

TEST("a command can have a bandwidth and a spread of its own") {
  Machine m;
  m.memory_bandwidth = 10;
  m.paces = {{"slow", {.bandwidth = 5, .spread = 0.25}}, {"uneven", {.spread = 1}}};
  CHECK(m.compute("slow", 100, 0) == 20);
  CHECK(m.compute("uneven", 100, 0) == 10);
  CHECK(m.compute("any", 100, 0) == 10);
  CHECK(m.spread("slow") == 0.25);
  CHECK(m.spread("any") == 0);
}

TEST("paces and interruptions that cannot be are refused with one sentence") {
  auto paced = [](Pace pace) {
    Machine m;
    m.paces["Dots"] = pace;
    validate(m);
  };
  auto interrupted = [](double hz, double seconds) {
    Machine m;
    m.interruptions = {hz, seconds};
    validate(m);
  };
  paced({.bandwidth = 1e9, .spread = 1});
  CHECK_THROWS(paced({.bandwidth = -1}), Error, "machine: the bandwidth of 'Dots' is -1 B/s, and must be at least 0");
  CHECK_THROWS(paced({.spread = 1.5}), Error, "the spread of 'Dots' is 1.5 of its time, and must be from 0 to 1");
  CHECK_THROWS(paced({.spread = std::nan("")}), Error, "the spread of 'Dots' is nan");
  interrupted(1e3, 200e-6);
  CHECK_THROWS(interrupted(-1, 1e-6), Error, "the number of interruptions is -1 a second, and must be from 0 to 1e+06");
  CHECK_THROWS(interrupted(1e19, 1e-20), Error, "the number of interruptions is 1e+19 a second, and must be from 0 to 1e+06");
  CHECK_THROWS(interrupted(1, -1e-6), Error, "an interruption is -1e-06 s, and must be at least 0");
  CHECK_THROWS(interrupted(1e3, 1e-3), Error, "the interrupted share is 1 of a rank's time, and must be less than 1");
}

TEST("a command's pace is 1 in the mean, reproducible, and each rank's own") {
  Machine m, again;
  again.draws = 1;
  Processor a(m, 0), same(m, 0), other(m, 1), redrawn(again, 0);
  double sum = 0, least = 1;
  constexpr int draws = 100000;
  for (int i = 0; i < draws; i++) {
    double x = a.pace(0.25);
    CHECK(x == same.pace(0.25));
    CHECK(x != other.pace(0.25));
    CHECK(x != redrawn.pace(0.25));
    sum += x;
    least = std::min(least, x);
  }
  CHECK_NEAR(sum / draws, 1, 0.005);
  CHECK_NEAR(least, 0.75, 0.001);
  CHECK(a.pace(0) == 1);
}

TEST("interruptions take their share of work, and nothing of waits") {
  Machine m;
  m.interruptions = {.hz = 1000, .seconds = 200e-6};
  Processor p(m, 3);
  double now = 0, work = 0, least = 1, most = 0;
  for (int i = 0; i < 20000; i++) {
    double taken = p.taken(now, 1e-3);
    CHECK(taken >= 1e-3 - 1e-12);
    double hits = (taken - 1e-3) / m.interruptions.seconds;
    least = std::min(least, hits);
    most = std::max(most, hits);
    now += taken;
    work += 1e-3;
  }
  CHECK_NEAR(now / work, 1 / (1 - 0.2), 0.02);  // four fifths of the time are left
  CHECK(least < 0.01);
  CHECK(most > 4);
  double busy = 0;  // works a tenth of the time, and is interrupted for a fifth of that
  for (int i = 0; i < 20000; i++) busy += p.taken(now + i * 10e-3, 1e-3);
  CHECK_NEAR(busy / (20000 * 1e-3), 1.25, 0.02);
  CHECK(Processor(Machine{}, 0).taken(0.1, 0.3) == 0.3);  // to the last bit
}

TEST("tasks share a device evenly") {
  Device d(2);
  CHECK(d.idle());
  d.add(0, 10, 0);
  CHECK(d.next() == 10);
  d.add(1, 2, 4);  // from now on both run at half speed
  CHECK(d.next() == 8);
  CHECK(d.take() == 1);
  CHECK(d.next() == 12);  // 4 done before, 2 of 4 meanwhile, 4 left
  CHECK(d.take() == 0);
  CHECK(d.idle());
}

TEST("a device with one worker takes tasks in turn") {
  Device d(1);
  d.add(5, 10, 0);
  d.add(6, 1, 3);
  CHECK(d.next() == 10);
  CHECK(d.take() == 5);
  CHECK(d.next() == 11);
  CHECK(d.take() == 6);
  CHECK(d.idle());
}

TEST("the agenda goes by time, and by party among equals") {
  Agenda a(0);
  a.add(3, 2.0);
  a.add(2, 1.0);
  a.add(1, 2.0);
  CHECK(a.may_go_on(1.0));
  CHECK(!a.may_go_on(1.5));
  std::vector<Who> order;
  while (!a.empty()) order.push_back(a.next().party);
  CHECK(order == std::vector<Who>{2, 1, 3});
}

TEST("an adversary's agenda is reproducible, and goes by nothing") {
  std::set<std::vector<Who>> orders;
  for (u64 seed = 1; seed <= 40; seed++) {
    auto draw = [&] {
      Agenda a(seed);
      for (Who w : {1, 2, 3}) a.add(w, w);
      CHECK(!a.may_go_on(0));
      std::vector<Who> order;
      while (!a.empty()) order.push_back(a.next().party);
      return order;
    };
    CHECK(draw() == draw());
    orders.insert(draw());
  }
  CHECK(orders.size() == 6);  // all there are
}

TEST("noise of a rank is bounded, reproducible, and its own") {
  Noise a(1, 0, 2.0), same(1, 0, 2.0), other(1, 1, 2.0), none(1, 0, 0.0);
  double most = 0;
  for (int i = 0; i < 1000; i++) {
    double x = a.delay();
    CHECK(x == same.delay());
    CHECK(x != other.delay());
    CHECK(none.delay() == 0);
    CHECK(x >= 0);
    CHECK(x < 2);
    most = std::max(most, x);
  }
  CHECK(most > 1.9);
}

TEST("fibers take turns, and keep their exceptions apart") {
  Stacks stacks(2, 64 << 10);
  Fiber fibers[2];
  std::string said;
  for (int i = 0; i < 2; i++)
    fibers[i].prepare(stacks.bottom(i), stacks.bytes(), [&, i] {
      try {
        throw i;
      } catch (int) {
        fibers[i].suspend();  // inside a handler, while the other enters its own
        try {
          throw;
        } catch (int again) {
          said += std::to_string(again);
        }
      }
      fibers[i].suspend();
      said += "end ";
    });
  for (int round = 0; round < 3; round++)
    for (auto& f : fibers) f.resume();
  CHECK(said == "01end end ");
  CHECK(fibers[0].ended() && fibers[1].ended());
}
