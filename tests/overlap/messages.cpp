// Messages and broadcasts of host data on the virtual clock, to the last overhead.
#include "check.hpp"
#include "sordino/comm/message_timing.hpp"
#include "sordino/comm/signature.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace {

using namespace sordino;

constexpr double o = 0.5e-6, L = 2e-6, bandwidth = 1e9, tolerance = 1e-12;

double seconds(Traffic traffic, i64 bytes, int ranks = 2) {
  model::Options m;
  m.ranks = ranks;
  m.arithmetic = false;
  m.machine.host_overhead_s = o;
  m.machine.link_latency_s = L;
  m.machine.link_bandwidth = bandwidth;
  model::ModelEngine engine(m);
  return time_traffic(engine, traffic, bytes, 2);
}

}  // namespace

TEST("ping-pong: each message takes an overhead, its bytes and a latency") {
  for (i64 bytes : {0, 8, 1 << 20})
    CHECK_NEAR(seconds(Traffic::ping_pong, bytes), o + L + double(bytes) / bandwidth, tolerance);
  CHECK_NEAR(seconds(Traffic::ping_pong, 8, 5), o + L + 8 / bandwidth, tolerance);  // others take no part
}

TEST("one way: messages follow each other as fast as they leave, and the answer to the last is shared by all") {
  double bytes = 1 << 20, leave = bytes / bandwidth;
  CHECK_NEAR(seconds(Traffic::one_way, 1 << 20), (o + 16 * leave + L + o + L) / 16, tolerance);
  CHECK_NEAR(seconds(Traffic::one_way, 0), (16 * o + L + o + L) / 16, tolerance);
}

TEST("both ways: two directions take no longer than one") {
  CHECK_NEAR(seconds(Traffic::both_ways, 1 << 20), (o + 16 * (1 << 20) / bandwidth + L) / 16, tolerance);
}

TEST("a broadcast lasts until the last rank has it") {
  double signature = sizeof(Signature) / bandwidth;  // each message of a collective carries one
  CHECK_NEAR(seconds(Traffic::broadcast, 0), o + signature + L, tolerance);
  CHECK_NEAR(seconds(Traffic::broadcast, 0, 4), 3 * o + signature + L, tolerance);  // a tree of degree 4
  CHECK_NEAR(seconds(Traffic::broadcast, 0, 16), 2 * (3 * o + L), 6 * o);
}

TEST("traffic between threads takes some time") {
  for (auto traffic : {Traffic::ping_pong, Traffic::one_way, Traffic::both_ways, Traffic::broadcast}) {
    host::HostEngine engine({.ranks = 3, .timeout = 20});
    CHECK(time_traffic(engine, traffic, 1000, 3) > 0);
  }
}

TEST("traffic that cannot be is refused") {
  CHECK_THROWS(seconds(Traffic::one_way, 8, 1), Error, "between 2 or more ranks");
  CHECK_THROWS(seconds(Traffic::one_way, -1), Error, "not of -1 bytes between 2 ranks");
  CHECK_THROWS(traffic_named("ring"), Error, "there is no traffic 'ring'; there are ping_pong, one_way, both_ways, broadcast");
  CHECK(traffic_named("both_ways") == Traffic::both_ways);
}
