#include "sordino/trsv/cuda/gpu_solve.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/passes.hpp"
#include "sordino/trsv/cuda/rank_tables.hpp"
#include "sordino/trsv/cuda/solve_kernel.hpp"

namespace sordino::trsv {
namespace {

using cuda::call;

constexpr int static_shared = 4 << 10;  // bytes that the kernel has beside its dynamic memory, at the most

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
    sums = team.array<V>(2 * blocks.slots * columns);
    for (const Plan* plan : plans)
      if (plan) flags[std::size_t(plan->direction)] = team.array<u32>(plan->count());
    ended = team.array<u32>(ranks);
    channel = team.signals("tasks of a triangular solve").channel;
    tables.resize(std::size_t(ranks)), b.resize(std::size_t(ranks)), result.resize(std::size_t(ranks)),
        ordered.resize(std::size_t(ranks)), partials.resize(std::size_t(ranks)), launched.resize(std::size_t(ranks));
    for (int r = 0; r < ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      tables[std::size_t(r)] = std::make_unique<RankTables<V>>(blocks, (forward ? forward : backward)->owner, r);
      ordered[std::size_t(r)] = OnGpu<V>(blocks.n * columns);
      if (backward) partials[std::size_t(r)] = OnGpu<V>(tables[std::size_t(r)]->partials() * columns);
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
    return (blocks.n + 2 * blocks.slots) * options.most_columns * i64(sizeof(V)) + flags_bytes + (1 << 16);
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
    const i64 shared = solve_shared<V>(tables[std::size_t(rank)]->queue(direction).shape, columns);
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
    for (int columns = 1; columns <= most_columns[std::size_t(direction)]; columns *= 2) {
      rank.load(gather_kernel<V>(columns));
      rank.load(solve_kernel<V>(direction, columns), most_shared(rank.id()));
    }
  }

  /// All passes over so many columns of b, in the rank's stream.
  void start(cuda::TeamRank& rank, Direction direction, i64 columns, bool conjugate) {
    const std::size_t r = std::size_t(rank.id()), d = std::size_t(direction);
    u32 epoch = epochs;
    for (i64 first = 0; first < columns;) {
      const int some = columns_of_pass(columns - first, most_columns[d]);
      SolveTables<V> t = tables[r]->tables(direction);
      t.times = times.empty() ? nullptr : times[r].data();
      t.x = x, t.sums = sums, t.partials = partials[r].data(), t.flags = flags[d], t.ended = ended, t.channel = channel;
      const cuda::Grid& g = launched[r].grids[d][std::countr_zero(unsigned(some))];
      if (direction == Direction::forward) empty_sums(rank, some);
      rank.launch({.blocks = int((blocks.n + 255) / 256), .threads = 256}, gather_kernel<V>(some), b[r].data() + first, columns,
                  t.order, blocks.n, ordered[r].data());
      const SolvePass<V> pass{.b = ordered[r].data(),
                              .result = result[r].data() + first,
                              .stride = columns,
                              .sums = launched[r].half * blocks.slots * options.most_columns,
                              .next_sums = (launched[r].half ^ 1) * blocks.slots * options.most_columns,
                              .epoch = ++epoch,
                              .first_ticket = launched[r].tickets[d],
                              .conjugate = conjugate};
      rank.launch(g, solve_kernel<V>(direction, some), rank.team(), t, pass);
      launched[r].tickets[d] += u32(t.count + g.blocks);
      if (direction == Direction::forward) use_sums(r, some);
      first += some;
    }
  }

  /// A pass finds the places of its sums empty, for the one before has emptied them, if it had as many columns. Else all ranks
  /// empty theirs before one begins.
  void empty_sums(cuda::TeamRank& rank, int columns) {
    const Launched& l = launched[std::size_t(rank.id())];
    if (l.empty_for[l.half] == columns) return;
    call("cudaMemsetAsync", cudaMemsetAsync(rank.team().mine(sums) + l.half * blocks.slots * options.most_columns, 0xff,
                                            std::size_t(blocks.slots * columns) * sizeof(V), rank.stream()));
    if (ranks == 1) return;
    rank.wait();
    rank.barrier();
  }
  void use_sums(std::size_t r, int columns) {
    Launched& l = launched[r];
    l.empty_for[l.half] = 0;
    l.half ^= 1;
    l.empty_for[l.half] = columns;
  }

  u32 passes(Direction direction, i64 columns) const { return passes_of(columns, most_columns[std::size_t(direction)]); }

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
    int half = 0;                 // of all sums, that the next pass uses
    int empty_for[2] = {};        // columns of the pass for which each half is empty; 0: for none
    cuda::Grid grids[2][4] = {};  // for passes of 1, 2, 4, 8 columns
  };
  std::vector<Launched> launched;
  std::vector<std::unique_ptr<RankTables<V>>> tables;
  std::vector<OnGpu<V>> b, result;      // [n][columns], as the caller has them
  std::vector<OnGpu<V>> ordered;        // [n][most columns of a pass] b in the order of the blocks
  std::vector<OnGpu<V>> partials;       // [own partial sums][most columns of a pass]
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
  const std::lock_guard lock(turn_on_gpus());
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
  const std::lock_guard lock(turn_on_gpus());
  State& s = *state_;
  s.plan(direction);
  s.reserve(columns);
  const u32 passes = s.passes(direction, columns);
  const auto prepare = [&](cuda::TeamRank& rank) {
    s.load(rank, direction);
    s.put(rank, b, columns);
  };
  return seconds_on_gpus(
      s.team, repeats, prepare, [&](cuda::TeamRank& rank) { s.start(rank, direction, columns, false); },
      [&] { s.epochs += passes; });
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
          state_->window_bytes() + state_->b[r].bytes() + state_->result[r].bytes() + state_->ordered[r].bytes() +
              state_->partials[r].bytes()};
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
