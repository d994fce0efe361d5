#include "sordino/base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace sordino {
namespace {

constexpr int most_threads = 32;  // memory has no more to give

}  // namespace

void for_parts(i64 first, i64 end, const std::function<void(i64 begin, i64 end)>& body, i64 least) {
  const i64 rows = end - first, cores = std::max(1, int(std::thread::hardware_concurrency()));
  const int parts = int(std::clamp<i64>(rows / least, 1, std::min<i64>(cores, most_threads)));
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

}  // namespace sordino
