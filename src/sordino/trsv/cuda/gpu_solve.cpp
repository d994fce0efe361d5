#include "sordino/trsv/cuda/gpu_solve.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"
#include "sordino/trsv/cuda/solve_kernel.hpp"
#include "sordino/trsv/cuda/turn.hpp"

namespace sordino::trsv {
namespace {

using cuda::call;

constexpr int static_shared = 4 << 10;  // bytes that the kernel has beside its dynamic memory, at the most

/// Of the columns that are left.
int columns_of_pass(i64 left, int most) {
  int columns = 1;
  while (2 * columns <= std::min<i64>(left, most)) columns *= 2;
  return columns;
}

void validate(const GpuOptions& o) {
  const int c = o.most_columns;
  if (c < 1 || c > most_columns_of_pass || (c & (c - 1)) != 0)
    bad_argument("a pass of a triangular solve has 1, 2, 4 or 8 columns, and " + std::to_string(c) + " were asked for");
}

}  // namespace

template <class V>
struct GpuSolve<V>::State {
  State(const Blocks& blocks, const Plan* forward, const Plan* backward, const GpuOptions& o)
      : blocks(blocks),
        options(o),
        plans{forward, backward},
        ranks((forward ? forward : backward)->ranks),
        team({.ranks = ranks, .devices = o.devices, .window = std::size_t(window_bytes()), .timeout = o.timeout}) {
    if (ranks > 1 && team.shares_devices())
      throw Error(Errc::unsupported, "a triangular solve on " + std::to_string(ranks) + " ranks needs as many GPUs");
    const i64 columns = options.most_columns;
    x = team.array<V>(blocks.n * columns);
    sums = team.array<V>(blocks.slots * columns);
    for (const Plan* plan : plans)
      if (plan) flags[std::size_t(plan->direction)] = team.array<u32>(plan->count());
    ended = team.array<u32>(ranks);
    channel = team.signals("tasks of a triangular solve").channel;
    tables.resize(std::size_t(ranks)), b.resize(std::size_t(ranks)), result.resize(std::size_t(ranks)),
        launched.resize(std::size_t(ranks));
    for (int r = 0; r < ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      tables[std::size_t(r)] = std::make_unique<RankTables<V>>(blocks, (forward ? forward : backward)->owner, r);
      for (const Plan* plan : plans)
        if (plan) tables[std::size_t(r)]->add(blocks, *plan);
    }
    for (const Plan* plan : plans)
      if (plan) find_grids(plan->direction);
  }

  const Plan& plan(Direction direction) const {
    if (!plans[std::size_t(direction)]) bad_argument("there is no plan for this direction of the triangular solve");
    return *plans[std::size_t(direction)];
  }

  i64 window_bytes() const {
    i64 flags_bytes = 0;
    for (const Plan* plan : plans) flags_bytes += plan ? plan->count() * i64(sizeof(u32)) : 0;
    return (blocks.n + blocks.slots) * options.most_columns * i64(sizeof(V)) + flags_bytes + (1 << 16);
  }

  void reserve(i64 columns) {
    for (int r = 0; r < ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      for (auto* vectors : {&b, &result})
        if (OnGpu<V>& mine = (*vectors)[std::size_t(r)]; mine.count() < blocks.n * columns) mine = OnGpu<V>(blocks.n * columns);
    }
  }

  /// How the kernel is launched for passes of so many columns, with as many blocks as there is room for; without shared memory
  /// where a block has too little for that.
  cuda::Grid grid(int rank, Direction direction, int columns) const {
    const i64 shared = solve_shared<V>(direction, tables[std::size_t(rank)]->queue(direction).shape, columns);
    const void* kernel = reinterpret_cast<const void*>(solve_kernel<V>(direction, columns));
    int at_once = 0, multiprocessors = 0;
    if (shared > most_shared(rank)) return {.shared = 0};
    call("cudaFuncSetAttribute", cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared(rank)));
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, solve_threads(), std::size_t(shared)));
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, team.device(rank)));
    return {.blocks = options.blocks > 0 ? options.blocks : at_once * multiprocessors,
            .threads = solve_threads(),
            .shared = int(shared)};
  }
  int most_shared(int rank) const {
    int most = 0;
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, team.device(rank)));
    return most - static_shared;
  }

  /// Grids of all passes that there can be: of as many columns as all ranks have shared memory for.
  void find_grids(Direction direction) {
    int& most = most_columns[std::size_t(direction)];
    for (int k = 0, columns = 1; columns <= options.most_columns; k++, columns *= 2) {
      bool fit = true;
      for (int r = 0; r < ranks; r++) {
        const cuda::OnDevice on(team.device(r));
        fit &= (launched[std::size_t(r)].grids[std::size_t(direction)][k] = grid(r, direction, columns)).shared > 0;
      }
      if (!fit) break;
      most = columns;
    }
    if (most == 0)
      throw Error(
          Errc::unsupported,
          "a task of this triangular solve needs more shared memory than a thread block of this GPU has: make blocks narrower");
  }

  /// Before a barrier of the ranks.
  void load(cuda::TeamRank& rank, Direction direction) {
    for (int columns = 1; columns <= most_columns[std::size_t(direction)]; columns *= 2)
      rank.load(solve_kernel<V>(direction, columns), most_shared(rank.id()));
  }

  /// All passes over so many columns of b, in the rank's stream.
  void start(cuda::TeamRank& rank, Direction direction, i64 columns, bool conjugate) {
    const std::size_t r = std::size_t(rank.id()), d = std::size_t(direction);
    u32 epoch = epochs;
    for (i64 first = 0; first < columns;) {
      const int some = columns_of_pass(columns - first, most_columns[d]);
      SolveTables<V> t = tables[r]->tables(direction);
      t.times = times.empty() ? nullptr : times[r].data();
      t.x = x, t.sums = sums, t.flags = flags[d], t.ended = ended, t.channel = channel;
      const cuda::Grid& g = launched[r].grids[d][std::countr_zero(unsigned(some))];
      const SolvePass<V> pass{.b = b[r].data() + first,
                              .result = result[r].data() + first,
                              .stride = columns,
                              .epoch = ++epoch,
                              .first_ticket = launched[r].tickets[d],
                              .conjugate = conjugate};
      rank.launch(g, solve_kernel<V>(direction, some), rank.team(), t, pass);
      launched[r].tickets[d] += u32(t.count + g.blocks);
      first += some;
    }
  }
  u32 passes(Direction direction, i64 columns) const {
    u32 count = 0;
    const int most = most_columns[std::size_t(direction)];
    for (i64 first = 0; first < columns; count++) first += columns_of_pass(columns - first, most);
    return count;
  }

  void put(cuda::TeamRank& rank, const V* from, i64 columns) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(b[std::size_t(rank.id())].data(), from, std::size_t(blocks.n * columns) * sizeof(V),
                                            cudaMemcpyHostToDevice, rank.stream()));
  }

  const Blocks& blocks;
  GpuOptions options;
  const Plan* plans[2];
  int ranks;
  cuda::Team team;
  cuda::Symmetric<V> x, sums;
  cuda::Symmetric<u32> flags[2], ended;
  i32 channel = 0;
  u32 epochs = 0;  // passes so far
  int most_columns[2] = {};
  struct Launched {
    u32 tickets[2] = {};          // that all passes so far have taken
    cuda::Grid grids[2][4] = {};  // for passes of 1, 2, 4, 8 columns
  };
  std::vector<Launched> launched;
  std::vector<std::unique_ptr<RankTables<V>>> tables;
  std::vector<OnGpu<V>> b, result;
  std::vector<OnGpu<TaskTimes>> times;  // of a solve that is traced
};

template <class V>
GpuSolve<V>::GpuSolve(const Blocks& blocks, const Plan* forward, const Plan* backward, const GpuOptions& options) {
  validate(options);
  if (!forward && !backward) bad_argument("a triangular solve on GPUs has a plan for one direction or for both");
  if (forward && backward && (forward->owner != backward->owner || forward->ranks != backward->ranks))
    bad_argument("plans for both directions of a triangular solve must have the same ranks and owners of blocks");
  state_ = std::make_unique<State>(blocks, forward, backward, options);
  for (int r = 0; r < state_->ranks; r++) {
    const cuda::OnDevice on(state_->team.device(r));
    state_->tables[std::size_t(r)]->invent(blocks);
  }
}

template <class V>
GpuSolve<V>::GpuSolve(const Factor<V>& factor, const Plan* forward, const Plan* backward, const GpuOptions& options)
    : GpuSolve(factor.blocks(), forward, backward, options) {
  update(factor);
}

template <class V>
GpuSolve<V>::~GpuSolve() = default;

template <class V>
void GpuSolve<V>::update(const Factor<V>& factor) {
  for (int r = 0; r < state_->ranks; r++) {
    const cuda::OnDevice on(state_->team.device(r));
    state_->tables[std::size_t(r)]->fill(factor);
  }
}

template <class V>
void GpuSolve<V>::solve(Direction direction, const V* b, V* x, i64 columns, bool conjugate) {
  Range range("sordino: triangular solve on GPUs");
  const std::lock_guard lock(turn_of_solves());
  State& s = *state_;
  const Plan& plan = s.plan(direction);
  s.reserve(columns);
  std::vector<std::vector<V>> found(std::size_t(s.ranks), std::vector<V>(std::size_t(s.blocks.n * columns)));
  s.team.run([&](cuda::TeamRank& rank) {
    s.load(rank, direction);
    s.put(rank, b, columns);
    rank.barrier();
    s.start(rank, direction, columns, conjugate);
    std::vector<V>& mine = found[std::size_t(rank.id())];
    call("cudaMemcpyAsync", cudaMemcpyAsync(mine.data(), s.result[std::size_t(rank.id())].data(), mine.size() * sizeof(V),
                                            cudaMemcpyDeviceToHost, rank.stream()));
    rank.wait();
  });
  s.epochs += s.passes(direction, columns);
  for (i32 k = 0; k < s.blocks.count(); k++) {
    const Block& block = s.blocks.blocks[std::size_t(k)];
    const std::vector<V>& mine = found[std::size_t(plan.owner[std::size_t(k)])];
    for (i32 j = block.column; j < block.column + block.width; j++) {
      const i64 row = s.blocks.order[std::size_t(j)];
      std::copy_n(mine.data() + row * columns, columns, x + row * columns);
    }
  }
}

template <class V>
std::vector<double> GpuSolve<V>::time(Direction direction, const V* b, i64 columns, int repeats) {
  const std::lock_guard lock(turn_of_solves());
  State& s = *state_;
  s.plan(direction);
  s.reserve(columns);
  std::vector<std::vector<double>> seconds(std::size_t(s.ranks));
  const u32 passes = s.passes(direction, columns);
  for (int k = 0; k < repeats; k++) {
    s.team.run([&](cuda::TeamRank& rank) {
      s.load(rank, direction);
      s.put(rank, b, columns);
      cudaEvent_t begin, end;
      call("cudaEventCreate", cudaEventCreate(&begin));
      call("cudaEventCreate", cudaEventCreate(&end));
      rank.wait();
      rank.barrier();
      call("cudaEventRecord", cudaEventRecord(begin, rank.stream()));
      s.start(rank, direction, columns, false);
      call("cudaEventRecord", cudaEventRecord(end, rank.stream()));
      rank.wait();
      float milliseconds = 0;
      call("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, begin, end));
      seconds[std::size_t(rank.id())].push_back(1e-3 * milliseconds);
      call("cudaEventDestroy", cudaEventDestroy(begin));
      call("cudaEventDestroy", cudaEventDestroy(end));
    });
    s.epochs += passes;
  }
  std::vector<double> slowest = seconds[0];
  for (const auto& of_rank : seconds)
    for (std::size_t k = 0; k < slowest.size(); k++) slowest[k] = std::max(slowest[k], of_rank[k]);
  return slowest;
}

template <class V>
std::vector<TaskTimes> GpuSolve<V>::trace(Direction direction, const V* b) {
  State& s = *state_;
  std::vector<TaskTimes> all(s.plan(direction).tasks.size());
  for (int r = 0; r < s.ranks; r++) {
    const cuda::OnDevice on(s.team.device(r));
    s.times.push_back(OnGpu<TaskTimes>(all));
  }
  std::vector<V> x(std::size_t(s.blocks.n));
  solve(direction, b, x.data());
  std::vector<TaskTimes> of_rank(all.size());
  for (int r = 0; r < s.ranks; r++) {
    const cuda::OnDevice on(s.team.device(r));
    call("cudaMemcpy",
         cudaMemcpy(of_rank.data(), s.times[std::size_t(r)].data(), all.size() * sizeof(TaskTimes), cudaMemcpyDeviceToHost));
    for (i32 t : s.plan(direction).queues[std::size_t(r)]) all[std::size_t(t)] = of_rank[std::size_t(t)];
  }
  s.times.clear();
  return all;
}

template <class V>
GpuMemory GpuSolve<V>::memory(int rank) const {
  const std::size_t r = std::size_t(rank);
  return {state_->tables[r]->value_bytes(), state_->tables[r]->table_bytes(),
          state_->window_bytes() + state_->b[r].bytes() + state_->result[r].bytes()};
}

template <class V>
int GpuSolve<V>::blocks() const {
  const Direction direction = state_->plans[0] ? Direction::forward : Direction::backward;
  const cuda::OnDevice on(state_->team.device(0));
  return state_->grid(0, direction, state_->most_columns[std::size_t(direction)]).blocks;
}

template class GpuSolve<float>;
template class GpuSolve<double>;
template class GpuSolve<Number>;

}  // namespace sordino::trsv
