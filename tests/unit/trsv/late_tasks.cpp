// Tasks that are held up at random.
#include "sordino/trsv/late_tasks.hpp"

#include <cmath>

#include "check.hpp"
#include "sordino/base/clock.hpp"
#include "unit/fresh.hpp"

using namespace sordino;
using namespace sordino::trsv;

TEST("a quarter of the tasks is late, by 50 us on average, others with another seed") {
  NOTE(fresh::said());
  fresh::Random random(81);
  const u64 seed = u64(random.whole(1, i64(1) << 60));
  int late = 0, same = 0;
  double sum = 0;
  for (i32 t = 0; t < 40'000; t++) {
    const double s = lateness(seed, t);
    CHECK(s >= 0);
    CHECK(s <= 100e-6);
    CHECK(lateness(seed, t) == s);
    late += s > 0, sum += s;
    same += s > 0 && lateness(seed + 1, t) > 0;
  }
  CHECK(std::abs(late - 10'000) < 700);  // eight standard deviations
  CHECK(std::abs(sum / late - 50e-6) < 2.5e-6);
  CHECK(std::abs(same - 2500) < 400);
}

TEST("who computes a late task waits for as long") {
  NOTE(fresh::said());
  fresh::Random random(82);
  const u64 seed = u64(random.whole(1, i64(1) << 60));
  const auto before_task = late_tasks(seed);
  double wanted = 0;
  const double begin = seconds_now();
  for (i32 t = 0; t < 200; t++) before_task(t), wanted += lateness(seed, t);
  CHECK(seconds_now() - begin >= wanted);
  CHECK(wanted > 0);
}
