#include "sordino/trsv/cuda/rank_tables.hpp"

#include <algorithm>
#include <string>

#include "sordino/trsv/cuda/solve_kernel.hpp"
#include "sordino/trsv/plan_owners.hpp"

namespace sordino::trsv {

template <class V>
RankTables<V>::RankTables(const Blocks& blocks, const std::vector<i32>& owner, int rank)
    : rank_(rank),
      blocks_(blocks.blocks),
      parent_(blocks.parent),
      rows_(blocks.rows),
      source_begin_(std::vector<i32>(blocks.source_begin.begin(), blocks.source_begin.end())),
      sources_(blocks.sources),
      order_(blocks.order) {
  const std::vector<i64> sizes = sizes_of(blocks);
  std::vector<i32> children(std::size_t(blocks.count()), 0);
  std::vector<i64> strips(blocks.strips.size(), 0);
  first_value_.assign(std::size_t(blocks.count()), 0);
  i64 values = 0;
  for (i32 k = 0; k < blocks.count(); k++) {
    if (const i32 above = blocks.parent[std::size_t(k)]; above != no_parent) children[std::size_t(above)]++;
    if (owner[std::size_t(k)] != rank) continue;
    const Block& b = blocks.blocks[std::size_t(k)];
    for (i32 s = 0; s < b.strips(); s++)
      strips[std::size_t(b.strip + s)] = values + blocks.strips[std::size_t(b.strip + s)] - blocks.strips[std::size_t(b.strip)];
    own_.push_back(k);
    first_value_[std::size_t(k)] = values;
    values += sizes[std::size_t(k)];
  }
  children_ = OnGpu<i32>(children);
  strips_ = OnGpu<i64>(strips);
  values_ = OnGpu<V>(values);
}

template <class V>
void RankTables<V>::add(const Blocks& blocks, const Plan& plan) {
  const std::vector<i64> sizes = sizes_of(blocks);
  std::vector<QueuedTask> tasks;
  std::vector<i32> needs;
  QueueOnGpu& queue = queues_[std::size_t(plan.direction)];
  for (i32 id : plan.queues[std::size_t(rank_)]) {
    const Task& t = plan.tasks[std::size_t(id)];
    const Block& b = blocks.blocks[std::size_t(t.block)];
    QueuedTask q{.kind = t.kind, .block = t.block, .first = t.first, .end = t.end, .id = id,
                 .readers = plan.readers[std::size_t(id)], .need = i32(needs.size()), .needs = 0, .values = 0, .value_bytes = 0};
    i64 count = 0;
    if (t.kind == Task::Kind::strips) {
      q.values = first_value_[std::size_t(t.block)] + blocks.strips[std::size_t(b.strip + t.first)] - blocks.strips[std::size_t(b.strip)];
      for (i32 s = t.first; s < t.end; s++) count += strip_of(b, s).size();
    } else if (t.kind == Task::Kind::subtrees) {
      if (t.end - t.first > most_blocks_of_subtrees())
        bad_argument("a task of a plan for GPUs has up to " + std::to_string(most_blocks_of_subtrees()) + " small blocks, and one has " +
                     std::to_string(t.end - t.first) + ": PlanOptions::subtree_blocks bounds them");
      q.values = first_value_[std::size_t(t.first)];
      for (i32 k = t.first; k < t.end; k++) {
        count += sizes[std::size_t(k)];
        queue.small_width = std::max(queue.small_width, blocks.blocks[std::size_t(k)].width);
      }
    }
    q.value_bytes = count * i64(sizeof(V));
    queue.width = std::max(queue.width, b.width);
    needs.insert(needs.end(), plan.needs.begin() + plan.need_begin[std::size_t(id)], plan.needs.begin() + plan.need_begin[std::size_t(id) + 1]);
    q.needs = i32(needs.size()) - q.need;
    tasks.push_back(q);
  }
  queue.count = i32(tasks.size());
  queue.tasks = OnGpu<QueuedTask>(tasks);
  queue.needs = OnGpu<i32>(needs);
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
  t.count = queue.count, t.width = queue.width, t.small_width = queue.small_width;
  t.blocks = blocks_.data(), t.parent = parent_.data(), t.children = children_.data();
  t.strips = strips_.data(), t.rows = rows_.data(), t.order = order_.data();
  t.source_begin = source_begin_.data(), t.sources = sources_.data(), t.values = values_.data();
  return t;
}

template <class V>
i64 RankTables<V>::table_bytes() const {
  i64 bytes = blocks_.bytes() + parent_.bytes() + children_.bytes() + strips_.bytes() + rows_.bytes() + source_begin_.bytes() +
              sources_.bytes() + order_.bytes();
  for (const QueueOnGpu& q : queues_) bytes += q.tasks.bytes() + q.needs.bytes() + q.counters.bytes();
  return bytes;
}

template class RankTables<float>;
template class RankTables<double>;
template class RankTables<Number>;

}  // namespace sordino::trsv
