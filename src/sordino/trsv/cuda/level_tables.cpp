#include "sordino/trsv/cuda/level_tables.hpp"

namespace sordino::trsv {

template <class V>
LevelPart<V>::LevelPart(const LevelRows& rows, const Plan& plan, int rank) : direction_(rows.direction), counters_(2) {
  const std::vector<u32> readers = readers_of_rows(rows, plan);
  for (i32 t : plan.queues[std::size_t(rank)])
    for (i32 place = plan.tasks[std::size_t(t)].first; place < plan.tasks[std::size_t(t)].end; place++)
      packed_.add({.row = rows.order[std::size_t(place)],
                   .place = place,
                   .count = rows.count(place),
                   .readers = readers[std::size_t(place)]});
  std::vector<i32> columns(std::size_t(packed_.slots()), 0);
  const auto take_column = [&](i64 slot, std::size_t row, i32 e) {
    const i64 begin = rows.begin[std::size_t(packed_.rows()[row].place)];
    columns[std::size_t(slot)] = rows.columns[std::size_t(begin + e)];
  };
  packed_.each_slot(take_column, 0);
  slices_on_gpu_ = OnGpu<LevelSlice>(packed_.slices());
  rows_on_gpu_ = OnGpu<LevelRow>(packed_.rows());
  columns_on_gpu_ = OnGpu<i32>(columns);
  values_on_gpu_ = OnGpu<V>(packed_.slots());
  pivots_on_gpu_ = OnGpu<V>(i64(packed_.rows().size()));
  const u32 none[2] = {};
  counters_.put(none, 0, 2);
}

template <class V>
void LevelPart<V>::fill(const LevelFactor<V>& factor) {
  const LevelRows& rows = factor.rows(direction_);
  std::vector<V> values(static_cast<std::size_t>(packed_.slots())), pivots;
  const auto take_value = [&](i64 slot, std::size_t row, i32 e) {
    const i64 begin = rows.begin[std::size_t(packed_.rows()[row].place)];
    values[std::size_t(slot)] = factor.values(direction_)[begin + e];
  };
  packed_.each_slot(take_value, 0);
  for (const LevelRow& row : packed_.rows()) pivots.push_back(factor.pivots(direction_)[row.place]);
  values_on_gpu_.put(values.data(), 0, packed_.slots());
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
