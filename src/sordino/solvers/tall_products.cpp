#include "sordino/solvers/tall_products.hpp"

#include <algorithm>
#include <limits>

namespace sordino::gram {
namespace {

/// First rows of the batches, [batches + 1], and first batches of the blocks, [blocks + 1].
struct Cuts {
  std::vector<i32> rows{0}, blocks{0};
};

Cuts cut(const Space& space, i32 rows_a_batch) {
  Cuts c;
  for (i32 block = 0; block < space.my_blocks(); block++) {
    const i32 end = space.tile_rows[std::size_t(space.block_tiles[std::size_t(block) + 1])];
    while (c.rows.back() < end) c.rows.push_back(std::min(c.rows.back() + rows_a_batch, end));
    c.blocks.push_back(i32(c.rows.size()) - 1);
  }
  return c;
}

/// A row for each batch, in the blocks that their rows are in. How many others have is not known, nor asked.
Space space_of(const Cuts& cuts, const Space& rows) {
  Space s;
  s.rows = cuts.blocks.back();
  s.n_blocks = rows.n_blocks;
  s.first_block = rows.first_block;
  set_tiles(s, cuts.blocks);
  return s;
}

}  // namespace

Batches::Batches(Rank& rank, int space, i32 rows_a_batch, int most_products) : rank_(rank), memory_(rank) {
  const Space& rows = rank.space(space);
  const Cuts cuts = cut(rows, rows_a_batch);
  Space batches = space_of(cuts, rows);
  rows_ = rows.rows;
  batches_ = rows_ / rows_a_batch;
  if (i64(batches.rows) * most_products > std::numeric_limits<i32>::max())
    bad_argument("batch " + std::to_string(rows_a_batch) + " is too small for " + std::to_string(rows.rows) +
                 " rows on a rank");
  const int places = rank.add_space(equal_parts(batches.rows * most_products, rank.id(), rank.size()));
  space_ = rank.add_space(std::move(batches));
  first_ = memory_.uploaded(cuts.rows);
  sums_ = rank.vector("products of batches", places);
}

void Batches::multiply(const std::vector<Vec>& a, const std::vector<Vec>& b, bool upper) const {
  auto run = [&](auto f) {
    f.s = i32(a.size()), f.columns = i32(b.size());
    f.rows = rows_, f.batches = batches_, f.first = first_, f.sums = sums_;
    std::copy(a.begin(), a.end(), f.a);
    std::copy(b.begin(), b.end(), f.b);
    rank_.run_over(space_, f);
  };
  const std::size_t M = (a.size() + side - 1) / side;
  [&]<std::size_t... m>(std::index_sequence<m...>) {
    ((m + 1 != M ? void() : upper ? run(Products<m + 1, true>{}) : run(Products<m + 1, false>{})), ...);
  }(std::make_index_sequence<most_s / side>{});
}

void Batches::add(int of_batch, const std::vector<i32>& at, const std::vector<Scal>& to, bool joins) const {
  auto run = [&]<int K>(AddBatches<K> f) {
    f.of_batch = of_batch, f.batches = batches_, f.sums = sums_;
    std::copy(at.begin(), at.end(), f.at);
    joins ? rank_.run_over(space_, f, Join{to}) : rank_.run_over(space_, f, Start{to});
  };
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    ((at.size() == k + 1 ? run(AddBatches<int(k) + 1>{}) : void()), ...);
  }(std::make_index_sequence<most_added>{});
}

}  // namespace sordino::gram
