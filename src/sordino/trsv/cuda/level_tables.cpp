#include "sordino/trsv/cuda/level_tables.hpp"

#include <algorithm>

namespace sordino::trsv {

template <class V>
LevelPart<V>::LevelPart(const LevelRows& rows, const Plan& plan, int rank) : direction_(rows.direction), counters_(2) {
  const std::vector<u32> readers = readers_of_rows(rows, plan);
  for (i32 t : plan.queues[std::size_t(rank)])
    for (i32 place = plan.tasks[std::size_t(t)].first; place < plan.tasks[std::size_t(t)].end; place++)
      add(rows, place, readers[std::size_t(place)]);
  close_slice();
  std::vector<i32> columns(std::size_t(slots_), 0);
  each_slot([&](i64 slot, i32 place, i32 e) {
    columns[std::size_t(slot)] = rows.columns[std::size_t(rows.begin[std::size_t(place)] + e)];
  });
  slices_on_gpu_ = OnGpu<LevelSlice>(slices_);
  rows_on_gpu_ = OnGpu<LevelRow>(rows_);
  columns_on_gpu_ = OnGpu<i32>(columns);
  values_on_gpu_ = OnGpu<V>(slots_);
  pivots_on_gpu_ = OnGpu<V>(i64(rows_.size()));
  const u32 none[2] = {};
  counters_.put(none, 0, 2);
}

template <class V>
void LevelPart<V>::close_slice() {
  if (!slices_.empty()) slots_ += i64(slices_.back().width) * slices_.back().rows;  // a long row has counted its own
}

/// A slice ends where a row would leave more places empty than it fills; a long row has one of its own.
template <class V>
void LevelPart<V>::add(const LevelRows& rows, i32 place, u32 readers) {
  constexpr i64 few = 64;
  const i32 count = rows.count(place);
  const bool is_long = count > long_row;
  auto fits = [&](const LevelSlice& s) {
    return !is_long && s.rows > 0 && s.rows < 32 &&
           std::max<i64>(s.width, count) * (s.rows + 1) <= 2 * (in_slice_ + count) + few;
  };
  if (slices_.empty() || !fits(slices_.back())) {
    close_slice();
    slices_.push_back({.entries = slots_, .first_row = i32(rows_.size()), .rows = 0, .width = 0});
    in_slice_ = 0;
  }
  rows_.push_back({.row = rows.order[std::size_t(place)], .place = place, .count = count, .readers = readers});
  if (is_long) {
    slots_ += count;
    return;
  }
  LevelSlice& s = slices_.back();
  s.rows++;
  s.width = std::max(s.width, std::int16_t(count));
  in_slice_ += count;
}

template <class V>
template <class Visit>
void LevelPart<V>::each_slot(const Visit& visit) const {
  for (const LevelSlice& s : slices_)
    for (i32 lane = 0; lane < std::max<i32>(s.rows, 1); lane++) {
      const LevelRow& row = rows_[std::size_t(s.first_row + lane)];
      for (i32 e = 0; e < row.count; e++) visit(s.entries + i64(e) * std::max<i32>(s.rows, 1) + lane, row.place, e);
    }
}

template <class V>
void LevelPart<V>::fill(const LevelFactor<V>& factor) {
  const LevelRows& rows = factor.rows(direction_);
  std::vector<V> values(static_cast<std::size_t>(slots_)), pivots;
  each_slot([&](i64 slot, i32 place, i32 e) {
    values[std::size_t(slot)] = factor.values(direction_)[rows.begin[std::size_t(place)] + e];
  });
  for (const LevelRow& row : rows_) pivots.push_back(factor.pivots(direction_)[row.place]);
  values_on_gpu_.put(values.data(), 0, slots_);
  pivots_on_gpu_.put(pivots.data(), 0, i64(pivots.size()));
}

template <class V>
LevelTables<V> LevelPart<V>::tables() const {
  LevelTables<V> t;
  t.slices = slices_on_gpu_.data();
  t.rows = rows_on_gpu_.data();
  t.pivots = pivots_on_gpu_.data();
  t.columns = columns_on_gpu_.data();
  t.values = values_on_gpu_.data();
  t.tickets = counters_.data();
  t.leaving = counters_.data() + 1;
  t.count = slices();
  return t;
}

template class LevelPart<float>;
template class LevelPart<double>;
template class LevelPart<Number>;

}  // namespace sordino::trsv
