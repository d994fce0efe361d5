#include "sordino/trsv/cuda/rank_tables.hpp"

#include <algorithm>
#include <string>

#include "sordino/trsv/cuda/subtree_program.hpp"
#include "sordino/trsv/plan_owners.hpp"

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
void require_fits(const Task& t, const Block& b) {
  const i32 blocks = t.kind == Task::Kind::subtrees ? t.end - t.first : 1;
  if (blocks > most_blocks_of_subtrees())
    bad_argument("a task of a plan for GPUs has up to " + std::to_string(most_blocks_of_subtrees()) +
                 " small blocks, and one has " + std::to_string(blocks) + ": PlanOptions::subtree_blocks bounds them");
  if (t.kind == Task::Kind::strips && (t.end - t.first) * b.strip_rows > most_rows_of_strips())
    bad_argument("a task of a plan for GPUs has up to " + std::to_string(most_rows_of_strips()) + " rows, and one has " +
                 std::to_string((t.end - t.first) * b.strip_rows));
}

}  // namespace

template <class V>
RankTables<V>::RankTables(const Blocks& blocks, const std::vector<i32>& owner, int rank)
    : rank_(rank),
      blocks_(blocks.blocks),
      row_sources_(row_sources_of(blocks)),
      parent_(blocks.parent),
      rows_(blocks.rows),
      sources_(blocks.sources),
      order_(blocks.order) {
  const std::vector<i64> sizes = sizes_of(blocks);
  std::vector<i64> strips(blocks.strips.size(), 0);
  first_value_.assign(std::size_t(blocks.count()), 0);
  i64 values = 0;
  for (i32 k = 0; k < blocks.count(); k++) {
    if (owner[std::size_t(k)] != rank) continue;
    const Block& b = blocks.blocks[std::size_t(k)];
    for (i32 s = 0; s < b.strips(); s++)
      strips[std::size_t(b.strip + s)] = values + blocks.strips[std::size_t(b.strip + s)] - blocks.strips[std::size_t(b.strip)];
    own_.push_back(k);
    first_value_[std::size_t(k)] = values;
    values += sizes[std::size_t(k)];
  }
  strips_ = OnGpu<i64>(strips);
  values_ = OnGpu<V>(values);
}

template <class V>
void RankTables<V>::let_be_copied(const Blocks& blocks, const Task& t, QueuedTask& q, std::vector<i32>& programs,
                                  SolveShape& shape) const {
  const Block& b = q.block;
  if (t.kind == Task::Kind::strips) {
    q.values = first_value_[std::size_t(t.block)] + blocks.strips[std::size_t(b.strip + t.first)] -
               blocks.strips[std::size_t(b.strip)];
    shape.operands = std::max(shape.operands, b.width);
    shape.products = std::max(shape.products, (t.end - t.first) * b.strip_rows);
  } else {
    const SubtreeProgram program = subtree_program(blocks, t.first, t.end);
    q.values = first_value_[std::size_t(t.first)];
    q.program = i64(programs.size());
    q.program_bytes = i32(program.words.size() * sizeof(i32));
    q.columns = program.columns;
    programs.insert(programs.end(), program.words.begin(), program.words.end());
    shape.operands = std::max(shape.operands, program.columns);
    shape.products = std::max(shape.products, program.columns + program.slots);
  }
  q.value_bytes = i32(values_of(blocks, t) * i64(sizeof(V)));  // strips and blocks lie in a row
  shape.buffer_bytes = std::max(shape.buffer_bytes, (q.value_bytes + q.program_bytes + 127) / 128 * 128);
}

template <class V>
void RankTables<V>::add(const Blocks& blocks, const Plan& plan) {
  std::vector<QueuedTask> tasks;
  std::vector<i32> needs, programs;
  QueueOnGpu& queue = queues_[std::size_t(plan.direction)];
  for (i32 id : plan.queues[std::size_t(rank_)]) {
    const Task& t = plan.tasks[std::size_t(id)];
    QueuedTask q;
    q.kind = t.kind, q.first = t.first, q.end = t.end, q.id = id;
    q.readers = plan.readers[std::size_t(id)];
    q.block = blocks.blocks[std::size_t(t.kind == Task::Kind::subtrees ? t.first : t.block)];
    require_fits(t, q.block);
    const auto begin = plan.needs.begin() + plan.need_begin[std::size_t(id)],
               end = plan.needs.begin() + plan.need_begin[std::size_t(id) + 1];
    q.need = i32(needs.size()), q.needs = i32(end - begin);
    needs.insert(needs.end(), begin, end);
    if (plan.direction == Direction::forward) let_be_copied(blocks, t, q, programs, queue.shape);
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
SolveTables<V> RankTables<V>::tables(Direction direction) const {
  const QueueOnGpu& queue = queues_[std::size_t(direction)];
  SolveTables<V> t;
  t.tasks = queue.tasks.data(), t.needs = queue.needs.data();
  t.tickets = queue.counters.data(), t.leaving = queue.counters.data() + 32;
  t.programs = queue.programs.data();
  t.count = queue.count, t.buffer_bytes = queue.shape.buffer_bytes, t.operands = queue.shape.operands;
  t.blocks = blocks_.data(), t.parent = parent_.data(), t.strips = strips_.data(), t.rows = rows_.data();
  t.order = order_.data(), t.row_sources = row_sources_.data(), t.sources = sources_.data(), t.values = values_.data();
  return t;
}

template <class V>
i64 RankTables<V>::table_bytes() const {
  i64 bytes = blocks_.bytes() + parent_.bytes() + strips_.bytes() + rows_.bytes() + row_sources_.bytes() + sources_.bytes() +
              order_.bytes();
  for (const QueueOnGpu& q : queues_) bytes += q.tasks.bytes() + q.needs.bytes() + q.programs.bytes() + q.counters.bytes();
  return bytes;
}

template class RankTables<float>;
template class RankTables<double>;
template class RankTables<Number>;

}  // namespace sordino::trsv
