// What tests of triangular solves on GPUs have in common.
#pragma once
#include <cmath>
#include <cstring>

#include "gpu/support.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/host_solve.hpp"
#include "unit/trsv/triangles.hpp"

namespace trsv_test {
using namespace sordino;
using namespace sordino::trsv;

template <class V>
double distance(const std::vector<V>& a, const std::vector<V>& b) {
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < a.size(); i++) {
    const double off = magnitude(a[i] - b[i]);
    most = off <= most ? most : std::isnan(off) ? INFINITY : off;
    scale = std::max(scale, magnitude(b[i]));
  }
  return most / scale;
}

template <class V>
double tolerance() {
  return std::is_same_v<V, float> ? 2e-4 : 1e-11;
}

template <class V>
bool same_bits(const std::vector<V>& a, const std::vector<V>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(V)) == 0;
}

struct Plans {
  Plan forward, backward;
  Plans(const Blocks& blocks, i64 value_bytes, const PlanOptions& options)
      : forward(make_plan(blocks, Direction::forward, value_bytes, options)),
        backward(make_plan(blocks, Direction::backward, value_bytes, options)) {
    check_plan(blocks, forward);
    check_plan(blocks, backward);
  }
  const Plan& of(Direction direction) const { return direction == Direction::forward ? forward : backward; }
};

}  // namespace trsv_test
