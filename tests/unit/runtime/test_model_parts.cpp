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
  CHECK(m.compute(100, 1e9) == 10);
  m.flops = 5;
  CHECK(m.compute(100, 100) == 20);
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
