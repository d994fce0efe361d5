// What a described cache holds of an iteration's buffers, by reckoning: everything, nothing, and parts in between.
#include <numeric>

#include "check.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/runtime/model/cache.hpp"

using namespace sordino;
using namespace sordino::model;

namespace {

using Commands = std::vector<std::vector<Touch>>;

double sum(const std::vector<double>& bytes) { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

double all(const Commands& commands) {
  double bytes = 0;
  for (auto& c : commands)
    for (auto& t : c) bytes += t.bytes * (t.reads + t.writes);
  return bytes;
}

/// Conjugate gradients by diagonals, `b` bytes a vector: w = A p; r -= alpha w; x += alpha p, p = r + beta p.
Commands iteration(double b, bool marks) {
  enum { p, w, r, x, entries };
  return {{{.buffer = p, .bytes = b, .reads = true},
           {.buffer = w, .bytes = b, .writes = true, .is_done_with = true},
           {.buffer = entries, .bytes = 4 * b, .reads = true, .is_done_with = true}},
          {{.buffer = w, .bytes = b, .reads = true, .is_done_with = marks},
           {.buffer = r, .bytes = b, .reads = true, .writes = true}},
          {{.buffer = r, .bytes = b, .reads = true, .is_done_with = marks},
           {.buffer = x, .bytes = b, .reads = true, .writes = true, .is_done_with = marks},
           {.buffer = p, .bytes = b, .reads = true, .writes = true}}};
}

}  // namespace

TEST("an iteration whose buffers fit finds all its bytes in the cache, but not in its first round") {
  Commands c = iteration(1, true);
  CHECK(sum(found_in_cache(c, 8, true)) == all(c));
  CHECK(sum(found_in_cache(c, 7.9, true)) < all(c));
  CHECK(found_in_cache(c, 8, false) == (std::vector<double>{0, 1, 2}));  // w; r, and p as it is read: it is written first
}

TEST("an iteration of buffers larger than the cache finds nothing") {
  CHECK(sum(found_in_cache(iteration(8, false), 8, true)) == 0);
  CHECK(sum(found_in_cache(iteration(1e9, false), 8, true)) == 0);
}

TEST("the larger an iteration is, the less of its bytes it finds; marks find more where two vectors fit") {
  for (bool marks : {false, true}) {
    double last = 1;
    for (double b = 0.5; b < 12; b *= 1.1) {
      double part = sum(found_in_cache(iteration(b, marks), 8, true)) / all(iteration(b, marks));
      CHECK(part <= last + 1e-12);
      CHECK(part >= 0);
      last = part;
    }
  }
  CHECK(sum(found_in_cache(iteration(4, true), 8, true)) > sum(found_in_cache(iteration(4, false), 8, true)));
}

TEST("what is left of a buffer is what fits beside all that came after it") {
  // 6 bytes, then 4 others, in a cache of 8: 4 of the 6 are left, and of the 4 others, behind the 6, 2.
  Commands two = {{{.buffer = 0, .bytes = 6, .reads = true}}, {{.buffer = 1, .bytes = 4, .reads = true}}};
  auto is = [&](double first, double second) {
    auto found = found_in_cache(two, 8, true);
    CHECK_NEAR(found[0], first, 1e-12);
    CHECK_NEAR(found[1], second, 1e-12);
  };
  is(4, 2);
  two[1][0].is_done_with = true;  // it has made room for the first, and has what that leaves
  is(6, 2);
  CHECK(found_in_cache(two, 8, false) == (std::vector<double>{0, 0}));
}

TEST("what is written has reached memory if it left the cache since, even if it was read again") {
  // Written; 8 others push it out; it is read; and written again, which its lines were there for: but one write went to memory.
  Commands c = {{{.buffer = 0, .bytes = 8, .writes = true}},
                {{.buffer = 1, .bytes = 8, .reads = true}},
                {{.buffer = 0, .bytes = 8, .reads = true}}};
  CHECK(sum(found_in_cache(c, 8, true)) == 0);
  c.erase(c.begin() + 1);
  CHECK(sum(found_in_cache(c, 8, true)) == 16);
}

TEST("bytes that are found take the cache's bandwidth, and the others the memory's") {
  Machine m;
  m.memory_bandwidth = 10;
  m.cache = {.bytes = 100, .share = 0.5, .bandwidth = 40};
  CHECK(m.cache.capacity() == 50);
  CHECK(m.compute("any", 100, 0, 80) == 4);
  CHECK(m.compute("any", 100, 0) == 10);
  m.paces["slow"].bandwidth = 5;  // of all its bytes
  CHECK(m.compute("slow", 100, 0, 80) == 20);
  m.flops = 1;
  CHECK(m.compute("any", 100, 30, 80) == 30);
}

TEST("blocks that find no place are late, behind commands of many rows alone") {
  Machine m;
  m.launch_s = 2;
  CHECK(m.launch(1e9) == 2);
  m.late_blocks = {.rows = 1000, .seconds = 1};
  CHECK(m.launch(1000) == 2);
  CHECK(m.launch(1001) == 3);
}

TEST("a cache that cannot be is refused with one sentence") {
  auto with = [](Cache cache, double push = 0) {
    Machine m;
    m.cache = cache;
    m.push_s = push;
    validate(m);
  };
  with({.bytes = 1e6, .bandwidth = 1e12});
  CHECK_THROWS(with({.bytes = -1, .bandwidth = 1}), Error, "the size of the cache is -1 B, and must be at least 0");
  CHECK_THROWS(with({.bytes = 1e6}), Error, "the bandwidth of the cache is 0 B/s, and must be positive");
  CHECK_THROWS(with({.bytes = 1e6, .share = 2, .bandwidth = 1}), Error, "and must be above 0 and at most 1");
  CHECK_THROWS(with({}, -1), Error, "machine: push_s is -1 s, and must be at least 0");
}
