// Processes of a run that are threads here: what one of them does alone, and what they tell each other.
#pragma once
#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/comm/processes.hpp"

namespace thread_processes {

using namespace sordino;

/// Where they meet. Its values may be of any length, but of the same for all.
struct Place {
  explicit Place(int count) : count(count), all(count) {}

  void most(std::vector<double>& values) {
    {
      std::lock_guard lock(mutex);
      told += values.size();
      if (largest.size() < values.size()) largest.resize(values.size(), -1e308);
      for (std::size_t k = 0; k < values.size(); k++) largest[k] = std::max(largest[k], values[k]);
    }
    all.arrive_and_wait();
    std::copy_n(largest.begin(), values.size(), values.begin());
    all.arrive_and_wait();
    {
      std::lock_guard lock(mutex);
      largest.clear();
    }
    all.arrive_and_wait();
  }

  const int count;
  std::barrier<> all;
  std::mutex mutex;
  std::vector<double> largest;
  std::size_t told = 0;  // values, by all
};

class Threads final : public Processes {
 public:
  Threads(Place& place, int index) : place_(place), index_(index) {}
  int count() const override { return place_.count; }
  int index() const override { return index_; }
  bool reaches_devices() const override { return false; }
  void barrier() override { place_.all.arrive_and_wait(); }
  void most(std::vector<double>& values) override { place_.most(values); }
  void add(double*, i64) override { throw Error(Errc::unsupported, "threads add nothing"); }
  void gather(double*, i64) override { throw Error(Errc::unsupported, "threads gather nothing"); }
  std::unique_ptr<Hall> hall(int, bool) override { throw Error(Errc::unsupported, "threads have no hall"); }
  std::unique_ptr<Transport> transport(int) override { throw Error(Errc::unsupported, "threads have no transport"); }

 private:
  Place& place_;
  int index_;
};

/// Runs a program in each; what they throw, as they are numbered, or null.
inline std::vector<std::exception_ptr> run(int count, const std::function<void(int process)>& program) {
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int p = 0; p < count; p++)
    threads.emplace_back([&, p] {
      try {
        program(p);
      } catch (...) {
        thrown[std::size_t(p)] = std::current_exception();
      }
    });
  for (std::thread& t : threads) t.join();
  return thrown;
}

}  // namespace thread_processes
