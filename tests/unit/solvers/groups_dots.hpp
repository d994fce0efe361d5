// Dot products that groups of ranks share, of a space whose blocks have one tile, some, and more than a thread block has warps.
#pragma once
#include <array>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "sordino/runtime/sum_order.hpp"
#include "sordino/solvers/shared_dots.hpp"

namespace groups_dots {

using namespace sordino;

using Found = std::array<double, 3>;  // (a,b), (a,a), and (b,a) by itself

inline Space space() {
  Space s;
  s.n_global = s.rows = 9001;
  s.n_blocks = 5;
  s.replicated = true;
  set_tiles(s, {0, 100, 400, 2900, 2901, 9001});
  return s;
}

inline std::vector<double> numbers(double seed) {
  std::vector<double> v(std::size_t(space().rows));
  for (std::size_t i = 0; i < v.size(); i++) v[i] = std::sin(seed + 0.37 * double(i)) * (i % 7 == 0 ? 1e8 : 1.0);
  return v;
}

/// In the order of sum_order.hpp.
inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  const Space s = space();
  double of_blocks[running_sums] = {};
  for (i32 block = 0; block < s.my_blocks(); block++) {
    double sum = 0;
    for (i32 tile = s.block_tiles[std::size_t(block)]; tile < s.block_tiles[std::size_t(block) + 1]; tile++) {
      double running[running_sums] = {};
      const i32 first = s.tile_rows[std::size_t(tile)], end = s.tile_rows[std::size_t(tile) + 1];
      for (i32 i = first; i < end; i++) running[(i - first) % running_sums] += a[std::size_t(i)] * b[std::size_t(i)];
      sum += fold(running, end - first);
    }
    of_blocks[block % running_sums] += sum;
  }
  return fold(of_blocks, s.my_blocks());
}

inline Found expected() {
  const auto a = numbers(1), b = numbers(2);
  return {dot(a, b), dot(a, a), dot(b, a)};
}

/// What each rank finds, in the last of some rounds.
inline std::vector<Found> found(Engine& engine, int group) {
  std::vector<Found> all(std::size_t(engine.size()));
  engine.run(
      [&](Rank& rank) {
        const int on = rank.add_space(space());
        const whole_vectors::Deal deal(rank.space(on), group);
        const whole_vectors::SharedDots dots(rank, deal);
        const Vec a = rank.vector("a", on), b = rank.vector("b", on);
        const Scal ab = rank.scalar("(a,b)"), aa = rank.scalar("(a,a)"), ba = rank.scalar("(b,a)");
        Recorded rounds = rank.loop({}, [&] {
          dots.record(rank, 0, a, b, ab, aa);
          rank.wait(ab);
          dots.record(rank, 1, b, a, ba);
          rank.wait(ba);
        });
        rank.write(a, numbers(1).data());
        rank.write(b, numbers(2).data());
        rank.replay(rounds, 5);
        all[std::size_t(rank.id())] = {rank.get(ab), rank.get(aa), rank.get(ba)};
      },
      {});
  return all;
}

}  // namespace groups_dots
