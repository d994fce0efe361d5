// Loops on several threads: every row once, whatever the number of parts, and one error.
#include "sordino/base/parallel.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

using namespace sordino;

TEST("every row is in one part") {
  for (i64 rows : {0, 1, 7, 1000, 100003}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(rows));
    for_parts(
        5, 5 + rows,
        [&](i64 begin, i64 end) {
          for (i64 i = begin; i < end; i++) seen[std::size_t(i - 5)]++;
        },
        10);
    bool once = true;
    for (auto& n : seen) once = once && n == 1;
    CHECK(once);
  }
}

TEST("few rows stay with the caller's thread, many do not") {
  std::atomic<int> others{0};
  auto caller = std::this_thread::get_id();
  auto count = [&](i64, i64) { others += std::this_thread::get_id() != caller; };
  for_parts(0, 60000, count);
  CHECK(others == 0);
  for_parts(0, 60000, count, 1000);
  CHECK((others > 0) == (std::thread::hardware_concurrency() > 1));
}

TEST("of several errors the first part's is thrown, after all have ended") {
  std::atomic<int> ended{0};
  auto fail = [&](i64 begin, i64 end) {
    ended += int(end - begin);
    throw std::runtime_error(std::to_string(begin));
  };
  CHECK_THROWS(for_parts(0, 640, fail, 10), std::runtime_error, "0");
  CHECK(ended == 640);
}

TEST("all parts are asked") {
  CHECK(all_parts(0, 200000, [](i64, i64) { return true; }));
  CHECK(!all_parts(0, 200000, [](i64, i64 end) { return end < 200000; }));
}
