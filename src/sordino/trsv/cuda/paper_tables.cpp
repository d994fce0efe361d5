#include "sordino/trsv/cuda/paper_tables.hpp"

#include <algorithm>
#include <string>

#include "sordino/trsv/cuda/solve_kernel.hpp"
#include "sordino/trsv/inverse.hpp"

namespace sordino::trsv::paper {
namespace {

/// Copies one piece behind the other, many at a time.
template <class V>
class Copier {
 public:
  explicit Copier(OnGpu<V>& to) : to_(to) {}
  /// Room for the next piece; the one before is complete.
  V* next(i64 count) {
    if (i64(some_.size()) + count > most) flush();
    some_.resize(some_.size() + std::size_t(count), V{});
    return some_.data() + some_.size() - count;
  }
  void flush() {
    to_.put(some_.data(), done_, i64(some_.size()));
    done_ += i64(some_.size());
    some_.clear();
  }

 private:
  static constexpr i64 most = 1 << 22;
  OnGpu<V>& to_;
  i64 done_ = 0;
  std::vector<V> some_;
};

}  // namespace

template <class V>
RankOnGpu<V>::RankOnGpu(const Pattern& pattern, const std::vector<i32>& order, const Layout& layout, i32 rank)
    : rank_(rank),
      part_(layout.parts[std::size_t(rank)]),
      order_(order),
      lsum_(std::vector<V>(std::size_t(pattern.n()), V{})),
      tickets_(std::vector<u32>(1, 0)) {
  take_columns(pattern, layout);
  take_rows(pattern, layout);
  take_masks(pattern, layout);
  values_ = OnGpu<V>(values_of_all_);
}

template <class V>
void RankOnGpu<V>::take_columns(const Pattern& p, const Layout& layout) {
  std::vector<BlockOnGpu> blocks;
  std::vector<i32> targets;
  for (std::size_t k = 0; k < part_.columns.size(); k++) {
    const i32 K = part_.columns[k];
    ColumnOnGpu c{.target = i64(targets.size()),
                  .block = i64(blocks.size()),
                  .K = K,
                  .first = p.column[std::size_t(K)],
                  .width = p.width(K),
                  .parent = layout.broadcasts.parent(K, rank_)};
    if (c.width > solve_threads)
      bad_argument("block columns of paper 004's solve on GPUs have up to " + std::to_string(solve_threads) +
                   " columns, and one has " + std::to_string(c.width));
    std::ranges::copy(layout.broadcasts.children(K, rank_), c.children);
    for (i64 at = part_.begin[k]; at < part_.begin[k + 1]; at++) {
      const std::size_t e = std::size_t(part_.blocks[std::size_t(at)]);
      const i32 I = p.row[e];
      for (i64 row = p.row_begin[e]; row < p.row_begin[e + 1]; row++)
        targets.push_back(p.column[std::size_t(I)] + p.rows[std::size_t(row)]);
      c.rows += p.height[e];
      blocks.push_back({I, c.rows});
    }
    c.end = i64(blocks.size());
    if (layout.grid.owner(K, K) == rank_) {
      c.inverse = values_of_all_;
      values_of_all_ += i64(c.width) * lead_of(c.width);
    }
    c.panel = values_of_all_;
    values_of_all_ += i64(c.width) * lead_of(c.rows);
    columns_.push_back(c);
  }
  columns_on_gpu_ = OnGpu<ColumnOnGpu>(columns_);
  blocks_ = OnGpu<BlockOnGpu>(blocks);
  targets_ = OnGpu<i32>(targets);
}

template <class V>
void RankOnGpu<V>::take_rows(const Pattern& p, const Layout& layout) {
  std::vector<RowOnGpu> rows;
  std::vector<u32> fmod;
  for (i32 I = 0; I < p.count(); I++) {
    const i32 place = layout.reductions.place(I, rank_);
    rows.push_back({.first = p.column[std::size_t(I)],
                    .width = p.width(I),
                    .fmod = u32(part_.fmod[std::size_t(I)]),
                    .parent = layout.reductions.parent(I, rank_),
                    .slot = place > 0 ? 2 * I + (place - 1) % 2 : 0});
    fmod.push_back(rows.back().fmod);
  }
  rows_ = OnGpu<RowOnGpu>(rows);
  fmod_ = OnGpu<u32>(fmod);
}

template <class V>
void RankOnGpu<V>::take_masks(const Pattern& p, const Layout& layout) {
  std::vector<Awaited> awaited[2];
  for (i32 K = 0; K < p.count(); K++) {
    if (part_.column_mask[std::size_t(K)] == 0) awaited[0].push_back({K, layout.broadcasts.parent(K, rank_)});
    const auto children = layout.reductions.children(K, rank_);
    for (i32 c : {0, 1})
      if (part_.row_mask[std::size_t(2 * K + c)] == 0) awaited[1].push_back({2 * K + c, children[std::size_t(c)]});
  }
  for (std::size_t actor : {0, 1}) {
    const std::vector<Awaited>& zeros = awaited[actor];
    masks_[actor] = OnGpu<Awaited>(zeros);
    shares_[actor] = OnGpu<i32>(shares_of(std::vector<char>(zeros.size(), 0), wait_threads));
  }
}

template <class V>
void RankOnGpu<V>::fill(const Factor<V>& factor) {
  const Pattern& p = factor.pattern();
  Copier<V> copier(values_);
  std::vector<V> below(solve_threads);
  for (std::size_t k = 0; k < columns_.size(); k++) {
    const ColumnOnGpu& c = columns_[k];
    if (c.inverse >= 0) {
      const i32 lead = lead_of(c.width);
      V* const to = copier.next(i64(c.width) * lead);
      const V* const D = factor.values(p.begin[std::size_t(c.K)]);
      for (i32 j = 0; j < c.width; j++) std::copy_n(D + i64(j) * c.width + j, c.width - j, to + i64(j) * lead + j);
      invert(to, lead, c.width, factor.is_unit(), below.data());
    }
    const i32 lead = lead_of(c.rows);
    V* to = copier.next(i64(c.width) * lead);
    for (i64 at = part_.begin[k]; at < part_.begin[k + 1]; at++) {
      const i64 e = part_.blocks[std::size_t(at)];
      const i32 height = p.height[std::size_t(e)];
      for (i32 j = 0; j < c.width; j++) std::copy_n(factor.values(e) + i64(j) * height, height, to + i64(j) * lead);
      to += height;
    }
  }
  copier.flush();
}

template <class V>
void RankOnGpu<V>::invent() {
  start_invented_values(values_.data(), 0, values_.count(), nullptr);
  cuda::call("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
}

template <class V>
PaperTables<V> RankOnGpu<V>::tables() const {
  PaperTables<V> t;
  t.columns = columns_on_gpu_.data(), t.blocks = blocks_.data(), t.rows = rows_.data();
  t.targets = targets_.data(), t.order = order_.data(), t.values = values_.data();
  t.lsum = lsum_.data(), t.fmod = fmod_.data(), t.tickets = tickets_.data();
  for (std::size_t actor : {0, 1}) t.masks[actor] = masks_[actor].data(), t.shares[actor] = shares_[actor].data();
  t.count = count();
  t.n = lsum_.count();
  return t;
}

template <class V>
i64 RankOnGpu<V>::table_bytes() const {
  i64 bytes = columns_on_gpu_.bytes() + blocks_.bytes() + rows_.bytes() + targets_.bytes() + order_.bytes() + tickets_.bytes();
  for (std::size_t actor : {0, 1}) bytes += masks_[actor].bytes() + shares_[actor].bytes();
  return bytes;
}

template class RankOnGpu<float>;
template class RankOnGpu<double>;
template class RankOnGpu<Number>;

}  // namespace sordino::trsv::paper
