#include "sordino/base/arena.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Where pieces come from: so many bytes and no more.
struct Source {
  i64 left;
  std::vector<i64> asked = {};
  std::vector<std::pair<std::unique_ptr<char[]>, i64>> pieces = {};  // and their bytes

  Arena::Take take() {
    return [this](i64 bytes) -> char* {
      asked.push_back(bytes);
      if (bytes > left) return nullptr;
      left -= bytes;
      return pieces.emplace_back(new char[std::size_t(bytes)], bytes).first.get();
    };
  }
};

constexpr i64 plenty = i64(1) << 26;

}  // namespace

TEST("arena: arrays are apart from each other, aligned in their pieces, and keep what is written") {
  NOTE(fresh::said());
  fresh::Random random(941);
  for (int trial = 0; trial < 20; trial++) {
    Source source{plenty};
    Arena arena(source.take(), random.whole(1, 5000), random.whole(0, 20'000));
    std::vector<std::pair<char*, i64>> arrays;
    i64 bytes = 0;
    for (int k = 0; k < 200; k++) {
      if (random.chance(0.05)) arena.expect(random.whole(0, 100'000));
      const i64 size = random.chance(0.1) ? 0 : random.whole(1, 3000);
      arrays.push_back({arena.give(size), size});
      CHECK(arrays.back().first != nullptr);
      std::fill_n(arrays.back().first, size, char(k));
      bytes += Arena::padded(size);
    }
    CHECK(arena.given() == bytes);
    CHECK(arena.pieces() == i64(source.pieces.size()));
    CHECK(arena.taken() == plenty - source.left);
    CHECK(arena.taken() >= arena.given());
    for (std::size_t k = 0; k < arrays.size(); k++) {
      const auto [array, size] = arrays[k];
      CHECK(std::all_of(array, array + size, [&](char c) { return c == char(k); }));
      const bool is_aligned =
          std::any_of(source.pieces.begin(), source.pieces.end(), [&, at = array, of = size](const auto& piece) {
            const i64 offset = at - piece.first.get();
            return offset >= 0 && offset + of <= piece.second && offset % Arena::alignment == 0;
          });
      CHECK(is_aligned);
    }
  }
}

TEST("arena: what is expected is taken at once, to the byte") {
  NOTE(fresh::said());
  fresh::Random random(942);
  std::vector<i64> sizes;
  i64 all = 0;
  for (int k = 0; k < 50; k++) sizes.push_back(random.whole(1, 10'000)), all += Arena::padded(sizes.back());
  Source source{plenty};
  Arena arena(source.take());
  arena.expect(all);
  CHECK(arena.pieces() == 0);
  for (i64 size : sizes) CHECK(arena.give(size) != nullptr);
  CHECK(arena.pieces() == 1);
  CHECK(source.asked == std::vector<i64>{all});
  CHECK(arena.give(1) != nullptr);
  CHECK(arena.pieces() == 2);
}

TEST("arena: what is expected is not to be had, and what is asked for is given all the same") {
  Source source{100'000};
  Arena arena(source.take(), 1 << 12, 1 << 16);
  arena.expect(1 << 20);
  CHECK(arena.give(5000) != nullptr);
  CHECK(arena.taken() == 2 << 12);
  CHECK(arena.give(5000) != nullptr);
}

TEST("arena: spare memory is an eighth at most, and given up where there is none; then nothing is given") {
  Source source{1 << 20};
  Arena arena(source.take(), 1 << 12, 1 << 16);
  i64 given = 0;
  while (arena.give(5000)) {
    given += Arena::padded(5000);
    CHECK(arena.given() == given);
    CHECK(arena.taken() <= given + std::min<i64>(given / 8, 1 << 16) + arena.pieces() * (1 << 12));
  }
  CHECK(source.left < Arena::padded(5000));
  CHECK(arena.given() == given);
  if (const i64 rest = source.left / Arena::alignment * Arena::alignment; rest > 0) CHECK(arena.give(rest) != nullptr);
}

TEST("arena: many small arrays take few pieces") {
  Source source{plenty};
  Arena arena(source.take(), 1 << 21, 1 << 26);
  for (int k = 0; k < 1000; k++) CHECK(arena.give(4096) != nullptr);
  CHECK(arena.pieces() <= 2);
}

TEST("arena: by the environment each array is a piece of its own, of no byte more") {
  setenv("SORDINO_ARRAYS_APART", "1", 1);
  Source source{plenty};
  Arena arena(source.take(), 1 << 21, 1 << 26);
  unsetenv("SORDINO_ARRAYS_APART");
  const std::vector<i64> sizes{1, 513, 4096, 0};
  arena.expect(1 << 20);
  for (i64 size : sizes) CHECK(arena.give(size) != nullptr);
  CHECK(source.asked == (std::vector<i64>{1, 513, 4096, 1}));
  CHECK(arena.pieces() == i64(sizes.size()));
  CHECK(arena.taken() == arena.given());
  CHECK(arena.give(2 * plenty) == nullptr);
}
