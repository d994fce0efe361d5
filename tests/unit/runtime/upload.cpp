// Arrays that threads make where an engine has them.
#include <atomic>
#include <stdexcept>

#include "check.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/rank.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

namespace {

/// Pieces of some bytes, of which each byte says whose it is.
MadeArray numbered(fresh::Random& random, i64 pieces) {
  MadeArray array{{0}, {}};
  for (i64 k = 0; k < pieces; k++) array.begins.push_back(array.begins.back() + random.whole(0, 300));
  array.make = [begins = array.begins](i64 piece, void* to) {
    const i64 bytes = begins[std::size_t(piece) + 1] - begins[std::size_t(piece)];
    std::fill_n(static_cast<unsigned char*>(to), bytes, static_cast<unsigned char>(piece % 251));
  };
  return array;
}

}  // namespace

TEST("each piece is made once, in its place, by any number of threads") {
  NOTE(fresh::said());
  fresh::Random random(103);
  for (i64 pieces : {0, 1, 1000})
    for (int threads : {1, 4}) {
      NOTE(pieces, " pieces, ", threads, " threads");
      MadeArray array = numbered(random, pieces);
      std::atomic<i64> made{0};
      array.make = [&, make = array.make](i64 piece, void* to) { made++, make(piece, to); };
      host::HostEngine engine({.ranks = 2});
      engine.run([&](Rank& rank) {
        std::vector<unsigned char> bytes(std::size_t(array.begins.back()) + 1, 255);
        engine.upload_made(rank, bytes.data(), array, threads);
        bool right = bytes.back() == 255;
        for (i64 k = 0; k < pieces; k++)
          for (i64 b = array.begins[std::size_t(k)]; b < array.begins[std::size_t(k) + 1]; b++)
            right = right && bytes[std::size_t(b)] == k % 251;
        CHECK(right);
      });
      CHECK(made == 2 * pieces);
    }
}

TEST("nothing is made where arithmetic is skipped, and what is thrown reaches the caller") {
  NOTE(fresh::said());
  fresh::Random random(104);
  MadeArray array = numbered(random, 50);
  array.make = [](i64 piece, void*) {
    if (piece == 20) throw std::runtime_error("twenty");
  };
  host::HostEngine engine({.ranks = 1});
  engine.run([&](Rank& rank) {
    engine.upload_made(rank, nullptr, array, 2);
    char somewhere = 0;
    CHECK_THROWS(engine.upload_made(rank, &somewhere, array, 2), std::runtime_error, "twenty");
  });
}
