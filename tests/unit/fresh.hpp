// Fresh random inputs in every run of the tests. A test says which with NOTE(fresh::said()), and
// SORDINO_TEST_SEED=123 build/tests/sordino_unit "its name" repeats them.
#pragma once
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace fresh {

using sordino::i32;
using sordino::i64;
using sordino::u64;

inline u64& seed() {  // processes that must agree set it, before they draw
  static u64 chosen = [] {
    const char* given = std::getenv("SORDINO_TEST_SEED");
    return given ? std::strtoull(given, nullptr, 10) : u64(std::random_device{}());
  }();
  return chosen;
}

inline std::string said() { return "SORDINO_TEST_SEED=" + std::to_string(seed()); }

/// A stream of random numbers; `stream` tells those of one test apart.
class Random {
 public:
  explicit Random(u64 stream) : bits_(seed() * 0x9e3779b97f4a7c15u + stream) {}

  /// lo, ..., hi
  i64 whole(i64 lo, i64 hi) { return std::uniform_int_distribution<i64>(lo, hi)(bits_); }
  double real(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(bits_); }
  double normal() { return std::normal_distribution<double>()(bits_); }
  bool chance(double p) { return real(0, 1) < p; }
  std::vector<double> normals(i64 n) {
    std::vector<double> v;
    for (i64 i = 0; i < n; i++) v.push_back(normal());
    return v;
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace fresh
