// Loops on several threads: every row once, whatever the number of parts, and one error.
#include "sordino/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "sordino/base/shared_cores.hpp"

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

TEST("a loop has as many threads as it asks for, however many cores there are, and no more than 32") {
  for (int threads : {1, 3, 7, 100}) {
    std::atomic<int> parts{0}, others{0};
    auto caller = std::this_thread::get_id();
    auto count = [&](i64, i64) {
      parts++;
      others += std::this_thread::get_id() != caller;
    };
    for_parts(0, 1000, count, 1, threads);
    CHECK(parts == std::min(threads, 32));
    CHECK(others == parts - 1);
    CHECK(thread_count(threads) == parts);
  }
  CHECK(thread_count(0) >= 1);
}

TEST("loops of a setup take all cores, or their share of them, and others 32 at most") {
  const int cores = int(std::thread::hardware_concurrency()), usual = thread_count(0);
  auto parts = [] {
    std::atomic<int> count{0};
    for_parts(0, 1 << 12, [&](i64, i64) { count++; }, 1);
    return count.load();
  };
  CHECK(parts() == usual);
  {
    SharedCores all;
    CHECK(parts() == std::clamp(cores, 1, 128));
    SharedCores two(2);
    CHECK(parts() == std::clamp(cores / 2, 1, 128));
    SharedCores many(1000);
    CHECK(parts() == 1);
    int elsewhere = 0;
    std::thread([&] { elsewhere = parts(); }).join();
    CHECK(elsewhere == usual);
  }
  CHECK(parts() == usual);
}

TEST("what is dealt out is done once, in pieces of the size asked for, by threads that are numbered") {
  for (i64 count : {0, 1, 10, 1001})
    for (i64 some : {1, 3, 2000})
      for (int threads : {1, 2, 7}) {
        NOTE(count, " by ", some, " to ", threads, " threads");
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        std::atomic<bool> right{true};
        auto caller = std::this_thread::get_id();
        auto look = [&](i64 begin, i64 end, int thread) {
          for (i64 i = begin; i < end; i++) seen[std::size_t(i)]++;
          const bool is_caller = std::this_thread::get_id() == caller;
          if (begin % some != 0 || end != std::min(begin + some, count) || thread < 0 || thread >= threads) right = false;
          if ((thread == 0) != is_caller) right = false;
        };
        deal_out(count, some, threads, look);
        for (auto& n : seen) right = right && n == 1;
        CHECK(right);
      }
}

TEST("what is thrown ends what is dealt out, and reaches the caller") {
  for (int threads : {1, 7}) {
    std::atomic<int> done{0};
    auto fail = [&](i64 begin, i64, int) {
      if (begin == 5) throw std::runtime_error("five");
      done++;
    };
    CHECK_THROWS(deal_out(1000000, 1, threads, fail), std::runtime_error, "five");
    CHECK(done < 1000000 - 1);
  }
}

TEST("parts are added up") {
  auto sum = [](i64 begin, i64 end) {
    i64 of = 0;
    for (i64 i = begin; i < end; i++) of += i;
    return of;
  };
  for (int threads : {1, 2, 7}) CHECK(sum_of_parts(3, 1000, sum, 10, threads) == 999 * 500 - 3);
  CHECK(sum_of_parts(5, 5, sum) == 0);
}
