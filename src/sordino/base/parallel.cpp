#include "sordino/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "sordino/base/shared_cores.hpp"

namespace sordino {
namespace {

constexpr int most_threads = 32;  // of a loop that comes again and again, or holds memory for each
constexpr int most_parts = 128;   // of a setup's: pages that are touched first, and what computes more than it reads, take all

thread_local int sharers = 0;  // 0: no setup

int cores() { return int(std::thread::hardware_concurrency()); }

}  // namespace

int thread_count(int threads) { return thread_count_of_each(threads, 1); }

int thread_count_of_each(int threads, int loops) {
  return std::clamp((threads > 0 ? threads : cores()) / std::max(loops, 1), 1, most_threads);
}

SharedCores::SharedCores(int threads) : before_(sharers) { sharers = std::max(1, threads); }
SharedCores::~SharedCores() { sharers = before_; }

int shared_cores() { return sharers == 0 ? thread_count(0) : std::clamp(cores() / sharers, 1, most_parts); }

void for_parts(i64 first, i64 end, const std::function<void(i64 begin, i64 end)>& body, i64 least, int threads_wanted) {
  const i64 rows = end - first;
  const int most = threads_wanted > 0 ? thread_count(threads_wanted) : shared_cores();
  const int parts = int(std::clamp<i64>(rows / least, 1, most));
  if (parts == 1) return body(first, end);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(parts));
  auto run = [&](int p) {
    try {
      body(first + rows * p / parts, first + rows * (p + 1) / parts);
    } catch (...) {
      thrown[std::size_t(p)] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(std::size_t(parts));
  int begun = 1;
  try {
    for (; begun < parts; begun++) threads.emplace_back(run, begun);
  } catch (const std::system_error&) {  // there are no more to be had: the caller does the rest
  }
  run(0);
  for (int p = begun; p < parts; p++) run(p);
  for (auto& t : threads) t.join();
  for (auto& error : thrown)
    if (error) std::rethrow_exception(error);
}

bool all_parts(i64 first, i64 end, const std::function<bool(i64 begin, i64 end)>& body) {
  std::atomic<bool> all{true};
  for_parts(first, end, [&](i64 from, i64 to) {
    if (!body(from, to)) all = false;
  });
  return all;
}

i64 sum_of_parts(i64 first, i64 end, const std::function<i64(i64 begin, i64 end)>& body, i64 least, int threads) {
  std::atomic<i64> sum{0};
  for_parts(first, end, [&](i64 from, i64 to) { sum += body(from, to); }, least, threads);
  return sum;
}

void deal_out(i64 count, i64 some, int threads, const std::function<void(i64 begin, i64 end, int thread)>& body) {
  std::atomic<i64> next{0};
  const i64 takers = std::min<i64>(thread_count(threads), (count + some - 1) / some);
  auto take = [&](i64 thread, i64) {
    try {
      for (i64 begin; (begin = next.fetch_add(some)) < count;) body(begin, std::min(begin + some, count), int(thread));
    } catch (...) {
      next = count;
      throw;
    }
  };
  for_parts(0, takers, take, 1, threads);
}

}  // namespace sordino
