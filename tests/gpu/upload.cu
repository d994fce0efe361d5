// Arrays that threads make on their way to a GPU: every byte in its place, of pieces that share a buffer and of large ones.
#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "on_gpu.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Words of 8 bytes, of which each is its own number.
MadeArray counted(fresh::Random& random, i64 pieces, i64 most) {
  MadeArray array{{0}, {}};
  for (i64 k = 0; k < pieces; k++) array.begins.push_back(array.begins.back() + 8 * random.whole(0, most));
  array.make = [begins = array.begins](i64 piece, void* to) {
    i64* word = static_cast<i64*>(to);
    for (i64 k = begins[std::size_t(piece)] / 8; k < begins[std::size_t(piece) + 1] / 8; k++) *word++ = k;
  };
  return array;
}

}  // namespace

TEST("what threads make arrives at a GPU, in its place, whatever the sizes of pieces") {
  NOTE(fresh::said());
  fresh::Random random(105);
  test::need_gpu();
  for (auto [pieces, most] : {std::pair<i64, i64>{0, 1}, {1, 5}, {20000, 300}, {100, 20000}, {9, 2000000}}) {
    const MadeArray array = counted(random, pieces, most);
    for (int threads : {1, 5}) {
      NOTE(pieces, " pieces of up to ", most, " words, ", threads, " threads");
      test::cuda_engine(2, {})->run(
          [&](Rank& rank) {
            const auto words = std::size_t(array.begins.back() / 8);
            void* const there = rank.engine().allocate_bytes(rank, 8 * words + 8);
            rank.engine().upload_made(rank, there, array, threads);
            std::vector<i64> back(words);
            cuda::call("cudaMemcpy", cudaMemcpy(back.data(), there, 8 * words, cudaMemcpyDefault));
            bool right = true;
            for (std::size_t k = 0; k < words; k++) right = right && back[k] == i64(k);
            CHECK(right);
            rank.engine().release_bytes(rank, there, 8 * words + 8);
          },
          {});
    }
  }
}

TEST("what is thrown while an array is made reaches the rank, and the next array arrives") {
  NOTE(fresh::said());
  fresh::Random random(106);
  test::need_gpu();
  const MadeArray array = counted(random, 1000, 3000);
  MadeArray broken = array;
  broken.make = [&](i64 piece, void* to) {
    if (piece == 700) throw std::runtime_error("seven hundred");
    array.make(piece, to);
  };
  test::cuda_engine(1, {})->run(
      [&](Rank& rank) {
        const auto words = std::size_t(array.begins.back() / 8);
        void* const there = rank.engine().allocate_bytes(rank, 8 * words);
        CHECK_THROWS(rank.engine().upload_made(rank, there, broken, 3), std::runtime_error, "seven hundred");
        rank.engine().upload_made(rank, there, array, 3);
        std::vector<i64> back(words);
        cuda::call("cudaMemcpy", cudaMemcpy(back.data(), there, 8 * words, cudaMemcpyDefault));
        CHECK(back.back() == i64(words) - 1);
        rank.engine().release_bytes(rank, there, 8 * words);
      },
      {});
}
