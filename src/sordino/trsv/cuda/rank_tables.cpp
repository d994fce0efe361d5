#include "sordino/trsv/cuda/rank_tables.hpp"

#include <algorithm>
#include <string>

#include "sordino/trsv/cuda/subtree_program.hpp"
#include "sordino/trsv/cuda/wide_shapes.hpp"
#include "sordino/trsv/plan_owners.hpp"
#include "sordino/trsv/way_back.hpp"

namespace sordino::trsv {
namespace {

std::vector<RowSources> row_sources_of(const Blocks& blocks) {
  std::vector<RowSources> all(blocks.source_begin.size() - 1);
  for (std::size_t row = 0; row < all.size(); row++) {
    const i64 begin = blocks.source_begin[row], count = blocks.source_begin[row + 1] - begin;
    RowSources& r = all[row];
    r.count = i32(count);
    if (count > 0) r.first = blocks.sources[std::size_t(begin)];
    if (count > 1) r.second = blocks.sources[std::size_t(begin) + 1];
    r.more = i32(begin) + 2;
  }
  return all;
}

/// What a kernel has room for.
void require_fits(Direction direction, const Task& t, const Block& b) {
  const i32 blocks = t.kind == Task::Kind::subtrees ? t.end - t.first : 1;
  if (blocks > most_blocks_of_subtrees())
    bad_argument("a task of a plan for GPUs has up to " + std::to_string(most_blocks_of_subtrees()) +
                 " small blocks, and one has " + std::to_string(blocks) + ": PlanOptions::subtree_blocks bounds them");
  if (t.kind == Task::Kind::columns && t.end - t.first > most_columns_of_closing())
    bad_argument("a task of a plan for GPUs has up to " + std::to_string(most_columns_of_closing()) + " columns, and one has " +
                 std::to_string(t.end - t.first));
  if (t.kind == Task::Kind::strips && direction == Direction::forward &&
      (t.end - t.first) * b.strip_rows > most_rows_of_strips())
    bad_argument("a task of a plan for GPUs has up to " + std::to_string(most_rows_of_strips()) + " rows, and one has " +
                 std::to_string((t.end - t.first) * b.strip_rows));
}

/// A plan with no more is mostly ends of chains, where everybody may look at numbers: that leaves memory alone only if few do.
constexpr i32 few_tasks = 1 << 14;

/// As many lanes share two rows as leave every pair to some, if each then has four columns or more.
i32 log_of_lanes(i32 pairs, i32 width) {
  i32 log = 0;
  while (log < 5 && (2 << log) * pairs <= worker_numbers() && (4 << log) <= width) log++;
  return log;
}

}  // namespace

template <class V>
RankTables<V>::RankTables(const Blocks& blocks, const std::vector<i32>& owner, int rank)
    : rank_(rank), row_sources_(row_sources_of(blocks)), rows_(blocks.rows), sources_(blocks.sources), order_(blocks.order) {
  const std::vector<i64> sizes = sizes_of(blocks);
  first_value_.assign(std::size_t(blocks.count()), 0);
  first_partial_.assign(std::size_t(blocks.count()), 0);
  i64 values = 0;
  for (i32 k = 0; k < blocks.count(); k++) {
    if (owner[std::size_t(k)] != rank) continue;
    own_.push_back(k);
    first_value_[std::size_t(k)] = values;
    first_partial_[std::size_t(k)] = partials_;
    values += sizes[std::size_t(k)];
    partials_ +=
        i64(blocks.part_begin[std::size_t(k) + 1] - blocks.part_begin[std::size_t(k)]) * blocks.blocks[std::size_t(k)].width;
  }
  values_ = OnGpu<V>(values);
}

template <class V>
i64 RankTables<V>::place_of_strip(const Blocks& blocks, const Task& t, i32 strip) const {
  const Block& b = blocks.blocks[std::size_t(t.block)];
  const i64 of_block =
      strip < b.strips() ? blocks.strips[std::size_t(b.strip + strip)] - blocks.strips[std::size_t(b.strip)] : 0;
  return first_value_[std::size_t(t.block)] + of_block;
}

template <class V>
i64 RankTables<V>::place_of_part(const Blocks& blocks, i32 block, i32 part) const {
  return first_partial_[std::size_t(block)] +
         i64(part - blocks.part_begin[std::size_t(block)]) * blocks.blocks[std::size_t(block)].width;
}

template <class V>
void RankTables<V>::set_strips(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const {
  q.values = place_of_strip(blocks, t, t.first);
  q.value_bytes = q.piece_bytes = i32(values_of(blocks, t) * i64(sizeof(V)));  // strips lie in a row
  q.lanes_log = log_of_lanes((t.end - t.first) * q.block.strip_rows / 2, q.block.width);
  const StripRange near = blocks.near[std::size_t(t.block)];
  q.is_urgent = near.first < t.end && t.first < near.end;
  shape.operands = std::max(shape.operands, q.block.width);
  shape.products = std::max({shape.products, (t.end - t.first) * q.block.strip_rows, q.block.width});
}

template <class V>
void RankTables<V>::set_long_strips(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const {
  q.values = place_of_strip(blocks, t, t.first);
  q.value_bytes = i32(values_of(blocks, t) * i64(sizeof(V)));
  shape.columns = std::max(shape.columns, q.block.width);
}

template <class V>
void RankTables<V>::set_part(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const {
  const Block& b = q.block;
  const i64 values = values_of(blocks, t), of_strip = strip_of(b, t.first).size();
  q.partial = place_of_part(blocks, t.block, part_of(blocks, t.block, t.first));
  q.values = place_of_strip(blocks, t, t.first);
  q.value_bytes = i32(values * i64(sizeof(V)));
  q.strips_of_round = t.end - t.first;
  if (values > most_of_strip) q.strips_of_round = i32(std::max<i64>(most_of_strip / of_strip, 1));  // all of one size
  q.rounds = q.pieces = (t.end - t.first + q.strips_of_round - 1) / q.strips_of_round;
  q.piece_bytes = q.rounds > 1 ? i32(q.strips_of_round * of_strip * i64(sizeof(V))) : q.value_bytes;
  q.piece_step = q.piece_bytes;
  shape.operands = std::max(shape.operands, (t.end - t.first) * b.strip_rows + 1);
  shape.products = std::max(shape.products, std::max(b.width, worker_numbers()));
}

template <class V>
void RankTables<V>::set_columns(const Blocks& blocks, const Task& t, QueuedTask& q, SolveShape& shape) const {
  const Block& b = q.block;
  q.near = blocks.near[std::size_t(t.block)];
  q.parts = blocks.part_begin[std::size_t(t.block) + 1] - blocks.part_begin[std::size_t(t.block)];
  q.partial = place_of_part(blocks, t.block, blocks.part_begin[std::size_t(t.block)]);
  q.pieces = q.near.end - q.near.first;
  shape.operands = std::max(shape.operands, q.pieces * b.strip_rows + 1);
  shape.products = std::max(shape.products, worker_numbers());
  if (q.pieces == 0) return;
  auto bytes_of = [&](i32 strip) {  // to a multiple of 16: strips have room for that behind their last column
    return i32((i64(t.end - t.first) * strip_of(b, strip).lead * i64(sizeof(V)) + 15) / 16 * 16);
  };
  q.values = place_of_strip(blocks, t, q.near.first) + i64(t.first) * strip_of(b, q.near.first).lead;
  const i32 shorter = strip_of(b, q.near.first).lead - strip_of(b, q.near.end - 1).lead;
  q.piece_bytes = bytes_of(q.near.first);
  q.last_piece_ahead = i32(i64(t.first) * shorter * i64(sizeof(V)));
  q.piece_step = i32(strip_of(b, q.near.first).size() * i64(sizeof(V)));
  q.value_bytes = (q.pieces - 1) * q.piece_bytes + bytes_of(q.near.end - 1);
}

template <class V>
void RankTables<V>::set_subtrees(const Blocks& blocks, const Task& t, bool forward, QueuedTask& q, std::vector<i32>& programs,
                                 SolveShape& shape) const {
  const SubtreeProgram program = (forward ? subtree_program : subtree_program_back)(blocks, t.first, t.end);
  q.values = first_value_[std::size_t(t.first)];
  q.value_bytes = q.piece_bytes = i32(values_of(blocks, t) * i64(sizeof(V)));  // blocks lie in a row
  q.program = i64(programs.size());
  q.program_bytes = i32(program.words.size() * sizeof(i32));
  q.columns = program.columns, q.outside = program.outside;
  programs.insert(programs.end(), program.words.begin(), program.words.end());
  shape.operands = std::max(shape.operands, forward ? program.columns : 2 * program.columns + program.outside + 1);
  shape.products = std::max(shape.products, forward ? program.columns + program.slots : 0);
}

template <class V>
void RankTables<V>::add(const Blocks& blocks, const Plan& plan) {
  add(blocks, plan, false, queues_[std::size_t(plan.direction)]);
}
template <class V>
void RankTables<V>::add_wide(const Blocks& blocks, const Plan& plan) {
  add(blocks, plan, true, wide_);
}

template <class V>
void RankTables<V>::add(const Blocks& blocks, const Plan& plan, bool is_wide, QueueOnGpu& queue) const {
  std::vector<QueuedTask> tasks;
  std::vector<i32> needs, programs;
  for (i32 id : plan.queues[std::size_t(rank_)]) {
    const Task& t = plan.tasks[std::size_t(id)];
    QueuedTask q;
    q.kind = t.kind, q.first = t.first, q.end = t.end, q.id = id;
    q.readers = plan.readers[std::size_t(id)];
    q.block = blocks.blocks[std::size_t(t.kind == Task::Kind::subtrees ? t.first : t.block)];
    require_fits(plan.direction, t, q.block);
    const auto begin = plan.needs.begin() + plan.need_begin[std::size_t(id)],
               end = plan.needs.begin() + plan.need_begin[std::size_t(id) + 1];
    q.need = i32(needs.size()), q.needs = i32(end - begin);
    needs.insert(needs.end(), begin, end);
    SolveShape& shape = queue.shape;
    const bool forward = plan.direction == Direction::forward;
    if (t.kind == Task::Kind::columns) set_columns(blocks, t, q, shape);
    const bool is_long = t.kind == Task::Kind::strips && is_wide;
    if (is_long)
      set_long_strips(blocks, t, q, shape);
    else if (t.kind == Task::Kind::strips)
      forward ? set_strips(blocks, t, q, shape) : set_part(blocks, t, q, shape);
    if (plan.count() <= few_tasks) q.is_urgent = 1;
    if (t.kind == Task::Kind::subtrees) set_subtrees(blocks, t, forward, q, programs, shape);
    const i32 at_once = is_long ? places_of_ring * bytes_of_place : q.rounds > 1 ? q.piece_bytes : q.value_bytes;
    shape.buffer_bytes = std::max(shape.buffer_bytes, (at_once + q.program_bytes + 127) / 128 * 128);
    tasks.push_back(q);
  }
  queue.count = i32(tasks.size());
  queue.tasks = OnGpu<QueuedTask>(tasks);
  queue.needs = OnGpu<i32>(needs);
  queue.programs = OnGpu<i32>(programs);
  queue.counters = OnGpu<u32>(std::vector<u32>(64, 0));  // a line for each
}

template <class V>
void RankTables<V>::fill(const Factor<V>& factor) {
  const Blocks& blocks = factor.blocks();
  for (std::size_t k = 0; k < own_.size();) {  // blocks that lie in a row go together
    std::size_t end = k + 1;
    while (end < own_.size() && own_[end] == own_[end - 1] + 1) end++;
    const Block& b = blocks.blocks[std::size_t(own_[k])];
    const i64 first = first_value_[std::size_t(own_[k])];
    const i64 last = end < own_.size() ? first_value_[std::size_t(own_[end])] : values_.count();
    values_.put(factor.strip(b, 0), first, last - first);
    k = end;
  }
}

template <class V>
void RankTables<V>::invent(const Blocks& blocks) {
  for (std::size_t k = 0; k < own_.size(); k++) {
    const i64 first = first_value_[std::size_t(own_[k])];
    std::size_t end = k + 1;
    while (end < own_.size() && own_[end] == own_[end - 1] + 1) end++;
    const i64 last = end < own_.size() ? first_value_[std::size_t(own_[end])] : values_.count();
    const Block& b = blocks.blocks[std::size_t(own_[k])];
    start_invented_values(values_.data() + first, blocks.strips[std::size_t(b.strip)], last - first, nullptr);
    k = end - 1;
  }
  cuda::call("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
}

template <class V>
SolveTables<V> RankTables<V>::tables(const QueueOnGpu& queue) const {
  SolveTables<V> t;
  t.tasks = queue.tasks.data(), t.needs = queue.needs.data();
  t.tickets = queue.counters.data(), t.leaving = queue.counters.data() + 32;
  t.programs = queue.programs.data();
  t.count = queue.count, t.buffer_bytes = queue.shape.buffer_bytes, t.operands = queue.shape.operands;
  t.rows = rows_.data(), t.order = order_.data(), t.row_sources = row_sources_.data(), t.sources = sources_.data(),
  t.values = values_.data();
  return t;
}

template <class V>
i64 RankTables<V>::table_bytes() const {
  i64 bytes = rows_.bytes() + row_sources_.bytes() + sources_.bytes() + order_.bytes();
  for (const QueueOnGpu* q : {queues_, queues_ + 1, &wide_})
    bytes += q->tasks.bytes() + q->needs.bytes() + q->programs.bytes() + q->counters.bytes();
  return bytes;
}

template class RankTables<float>;
template class RankTables<double>;
template class RankTables<Number>;

}  // namespace sordino::trsv
