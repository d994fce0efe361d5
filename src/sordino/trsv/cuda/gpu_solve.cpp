#include "sordino/trsv/cuda/gpu_solve.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/pointers.hpp"
#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/pass_kernels.hpp"
#include "sordino/trsv/cuda/solve_vectors.hpp"

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
        has_wide(has_wide_passes<V>(forward, o)),
        team({.ranks = ranks, .devices = o.devices, .window = std::size_t(window_bytes()), .timeout = o.timeout}),
        vectors(team) {
    if (ranks > 1 && team.shares_devices())
      throw Error(Errc::unsupported, "a triangular solve on " + std::to_string(ranks) + " ranks needs as many GPUs");
    x = team.array<V>(2 * numbers(blocks.n));
    sums = team.array<V>(numbers_of_sums());
    for (const Plan* plan : plans)
      if (plan) flags[std::size_t(plan->direction)] = team.array<u32>(plan->count());
    if (has_wide) wide_flags = team.array<u32>(long_tasks.count());
    ended = team.array<u32>(ranks);
    channel = team.signals("tasks of a triangular solve").channel;
    tables.resize(std::size_t(ranks)), ordered.resize(std::size_t(ranks)), partials.resize(std::size_t(ranks)),
        launched.resize(std::size_t(ranks));
    for (int r = 0; r < ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      tables[std::size_t(r)] = std::make_unique<RankTables<V>>(blocks, (forward ? forward : backward)->owner, r);
      ordered[std::size_t(r)] = OnGpu<V>(has_wide ? blocks.n * options.most_columns : numbers(blocks.n));
      if (backward) partials[std::size_t(r)] = OnGpu<V>(2 * numbers(tables[std::size_t(r)]->partials()));
      for (const Plan* plan : plans)
        if (plan) tables[std::size_t(r)]->add(blocks, *plan);
      if (has_wide) tables[std::size_t(r)]->add_wide(blocks, long_tasks);
    }
    for (const Plan* plan : plans)
      if (plan) find_grids(plan->direction);
  }

  /// Of passes that nobody has waited for.
  ~State() { settle_quietly(team); }

  const Plan& plan(Direction direction) const {
    if (!plans[std::size_t(direction)]) bad_argument("there is no plan for this direction of the triangular solve");
    return *plans[std::size_t(direction)];
  }

  i64 window_bytes() const {
    i64 flags_bytes = 0;
    for (const Plan* plan : plans) flags_bytes += plan ? plan->count() * i64(sizeof(u32)) : 0;
    flags_bytes += long_tasks.count() * i64(sizeof(u32));
    return (2 * numbers(blocks.n) + numbers_of_sums()) * i64(sizeof(V)) + flags_bytes + (1 << 16);
  }
  /// Two halves, of passes that leave the places of the next one empty; a wide pass has all.
  i64 numbers_of_sums() const {
    return std::max(2 * numbers(blocks.slots), has_wide ? blocks.slots * options.most_columns : 0);
  }

  /// How the kernel is launched for passes of so many columns, with as many blocks as there is room for and tasks; without
  /// shared memory where a block has too little for that.
  cuda::Grid grid(int rank, Direction direction, int columns) const {
    // A rank without tasks needs none, and 0 says that there is too little.
    const QueueOnGpu& tasks = queue(rank, direction, columns);
    const i64 shared = std::max<i64>(shared_of_pass<V>(tasks.shape, columns), 16);
    const void* kernel = reinterpret_cast<const void*>(kernel_of_pass<V>(direction, columns));
    int at_once = 0, multiprocessors = 0;
    if (shared > most_shared(rank)) return {.shared = 0};
    call("cudaFuncSetAttribute", cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared(rank)));
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, solve_threads(), std::size_t(shared)));
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, team.device(rank)));
    return {.blocks = options.blocks > 0 ? options.blocks : std::clamp(tasks.count, 1, std::max(at_once * multiprocessors, 1)),
            .threads = solve_threads(),
            .shared = int(shared)};
  }
  int most_shared(int rank) const {
    int most = 0;
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, team.device(rank)));
    return most - static_shared;
  }

  /// What passes of so many columns go by.
  const QueueOnGpu& queue(int rank, Direction direction, int columns) const {
    const RankTables<V>& of_rank = *tables[std::size_t(rank)];
    return columns > most_columns_of_pass ? of_rank.wide_queue() : of_rank.queue(direction);
  }

  /// Of the largest tasks of all ranks, and so of the plan, whoever has them.
  SolveShape shape_of_all(Direction direction, int columns) const {
    SolveShape all;
    for (int r = 0; r < ranks; r++) {
      const SolveShape& s = queue(r, direction, columns).shape;
      all.buffer_bytes = std::max(all.buffer_bytes, s.buffer_bytes);
      all.operands = std::max(all.operands, s.operands);
      all.products = std::max(all.products, s.products);
      all.columns = std::max(all.columns, s.columns);
    }
    return all;
  }

  /// Grids of all passes that there can be: of as many columns as there is shared memory for, on any number of ranks as many,
  /// for eight are added up in another order.
  void find_grids(Direction direction) {
    int& most = most_columns[std::size_t(direction)];
    const int widest = has_wide && direction == Direction::forward ? options.most_columns : most_narrow();
    for (int k = 0; k < sizes_of_passes && 1 << k <= widest; k++) {
      const int columns = 1 << k;
      bool fit = shared_of_pass<V>(shape_of_all(direction, columns), columns) <= most_shared(0);
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

  /// Before a barrier of the ranks; once, for a kernel stays as it was loaded.
  void load(cuda::TeamRank& rank, Direction direction) {
    if (std::exchange(launched[std::size_t(rank.id())].loaded[std::size_t(direction)], true)) return;
    for (int columns = 1; columns <= most_columns[std::size_t(direction)]; columns *= 2) {
      if (columns > most_columns_of_pass)
        rank.load(wide_gather_kernel(columns));
      else
        rank.load(gather_kernel<V>(columns));
      rank.load(kernel_of_pass<V>(direction, columns), most_shared(rank.id()));
    }
  }

  /// A pass's columns of b, in the order of the blocks.
  void put_in_order(cuda::TeamRank& rank, const V* from, i64 stride, const PassSize& some, const i32* order) {
    V* const to = ordered[std::size_t(rank.id())].data();
    if constexpr (std::is_same_v<V, double>)
      if (some.is_wide())
        return rank.launch({.blocks = int((blocks.n * some.room + 255) / 256), .threads = 256}, wide_gather_kernel(some.room),
                           from, stride, some.columns, order, blocks.n, to);
    rank.launch({.blocks = int((blocks.n + 255) / 256), .threads = 256}, gather_kernel<V>(some.room), from, stride, order,
                blocks.n, to);
  }

  /// All passes over so many columns, in the rank's stream: from b, on the rank's GPU, to x, which all ranks reach.
  void start(cuda::TeamRank& rank, Direction direction, const V* from, V* to, i64 columns, bool conjugate) {
    const std::size_t r = std::size_t(rank.id()), d = std::size_t(direction);
    const bool apart = are_apart(from, to, blocks.n * columns);
    u32 epoch = epochs;
    for (i64 first = 0; first < columns;) {
      const PassSize some = size_of_pass(columns - first, most_columns[d]);
      SolveTables<V> t = tables[r]->tables(queue(rank.id(), direction, some.room));
      t.times = times.empty() ? nullptr : times[r].data();
      t.x = x, t.sums = sums, t.partials = partials[r].data(), t.ended = ended, t.channel = channel;
      t.flags = some.is_wide() ? wide_flags : flags[d];
      const cuda::Grid& g = launched[r].grids[d][place_of_size(some.room)];
      const bool one_each = g.blocks >= t.count;
      u32& tickets = some.is_wide() ? launched[r].wide_tickets : launched[r].tickets[d];
      if (!some.is_wide()) empty(rank, direction, some.room);
      // Nothing that is small is worth a kernel of its own, unless x is written where b is still read.
      const bool in_place = one_each && apart && !some.is_wide();
      if (!in_place) put_in_order(rank, from + first, columns, some, t.order);
      const int half = some.is_wide() ? 0 : launched[r].half[d];
      const SolvePass<V> pass{.b = in_place ? from + first : ordered[r].data(),
                              .order = in_place ? t.order : nullptr,
                              .result = to + first,
                              .stride = columns,
                              .sums = half * numbers(blocks.slots),
                              .next_sums = (half ^ 1) * numbers(blocks.slots),
                              .x = half * numbers(blocks.n),
                              .next_x = (half ^ 1) * numbers(blocks.n),
                              .partials = half * numbers(tables[r]->partials()),
                              .next_partials = (half ^ 1) * numbers(tables[r]->partials()),
                              .not_finite = vectors.not_finite(),
                              .epoch = ++epoch,
                              .first_ticket = tickets,
                              .columns = some.columns,
                              .one_each = one_each,
                              .conjugate = conjugate};
      rank.launch(g, kernel_of_pass<V>(direction, some.room), rank.team(), t, pass);
      tickets += u32(one_each ? g.blocks : t.count + g.blocks);
      use(r, direction, some);
      first += some.columns;
    }
  }

  static bool are_apart(const V* from, const V* to, i64 count) {
    const std::less_equal<const V*> ends{};  // before it begins
    return ends(from + count, to) || ends(to + count, from);
  }

  int most_narrow() const { return std::min(options.most_columns, most_columns_of_pass); }
  i64 numbers(i64 rows) const { return rows * most_narrow(); }

  /// A pass finds the places of its numbers empty, for the one before in its direction has emptied them, if it had as many
  /// columns. Else all ranks empty theirs before one begins.
  void empty(cuda::TeamRank& rank, Direction direction, int columns) {
    const Launched& l = launched[std::size_t(rank.id())];
    const std::size_t d = std::size_t(direction);
    if (l.empty_for[d][l.half[d]] == columns) return;
    auto fill = [&](V* all, i64 rows) {
      call("cudaMemsetAsync",
           cudaMemsetAsync(all + l.half[d] * numbers(rows), 0xff, std::size_t(rows * columns) * sizeof(V), rank.stream()));
    };
    if (direction == Direction::forward) {
      fill(rank.team().mine(sums), blocks.slots);
    } else {
      fill(rank.team().mine(x), blocks.n);
      fill(partials[std::size_t(rank.id())].data(), tables[std::size_t(rank.id())]->partials());
    }
    if (ranks == 1) return;
    rank.wait();
    rank.barrier();
  }
  void use(std::size_t r, Direction direction, const PassSize& some) {
    int &half = launched[r].half[std::size_t(direction)], *const empty_for = launched[r].empty_for[std::size_t(direction)];
    empty_for[half] = 0;
    half ^= 1;
    empty_for[half] = some.is_wide() ? 0 : some.room;
  }

  u32 passes(Direction direction, i64 columns) const { return passes_of(columns, most_columns[std::size_t(direction)]); }

  std::size_t bytes(i64 columns) const { return std::size_t(blocks.n * columns) * sizeof(V); }

  const Blocks& blocks;
  GpuOptions options;
  const Plan* plans[2];
  int ranks;
  bool has_wide;
  Plan long_tasks = plan_of_wide_passes(has_wide, blocks, plans[0], options);
  cuda::Team team;
  SolveVectors<V> vectors;  // of callers: [n][columns]
  cuda::Symmetric<V> x, sums;
  cuda::Symmetric<u32> flags[2], wide_flags, ended;
  i32 channel = 0;
  u32 epochs = 0;  // passes so far
  int most_columns[2] = {};
  struct Launched {
    u32 tickets[2] = {};                        // that all passes so far have taken
    u32 wide_tickets = 0;                       // and all wide ones
    int half[2] = {};                           // of all numbers, that the next pass of each direction uses
    int empty_for[2][2] = {};                   // columns of the pass for which each half is empty; 0: for none
    cuda::Grid grids[2][sizes_of_passes] = {};  // for passes of 1, 2, 4, ..., 32 columns
    bool loaded[2] = {};                        // the kernels of each direction
  };
  std::vector<Launched> launched;
  std::vector<std::unique_ptr<RankTables<V>>> tables;
  std::vector<OnGpu<V>> ordered;        // [n][most columns of a pass] b in the order of the blocks
  std::vector<OnGpu<V>> partials;       // [own partial sums][most columns of a pass], twice
  std::vector<OnGpu<TaskTrace>> times;  // of a solve that is traced
};

template <class V>
GpuSolve<V>::GpuSolve(const Blocks& blocks, const Plan* forward, const Plan* backward, const GpuOptions& options) {
  validate(options, most_columns_of_wide_pass);
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
  const auto turn = turn_on_gpus(state_->ranks);
  state_->team.settle();
  for (int r = 0; r < state_->ranks; r++) {
    const cuda::OnDevice on(state_->team.device(r));
    state_->tables[std::size_t(r)]->fill(factor);
  }
}

template <class V>
bool GpuSolve<V>::solve(Direction direction, const V* b, V* x, i64 columns, bool conjugate, const InStream& in) {
  Range range("sordino: triangular solve on GPUs");
  const auto turn = turn_on_gpus(state_->ranks);
  State& s = *state_;
  s.plan(direction);
  const auto load = [&](cuda::TeamRank& rank) { s.load(rank, direction); };
  const auto start = [&](cuda::TeamRank& rank, const V* from, V* to) {
    s.start(rank, direction, from, to, columns, conjugate);
  };
  const bool finite = s.vectors.solve(b, x, s.blocks.n * columns, in, s.epochs, load, start);
  s.epochs += s.passes(direction, columns);
  return finite;
}

template <class V>
void GpuSolve<V>::settle() {
  state_->team.settle();
}

template <class V>
bool GpuSolve<V>::has_failed() const {
  return state_->team.has_failed();
}

template <class V>
std::vector<double> GpuSolve<V>::time(Direction direction, const V* b, i64 columns, int repeats) {
  const auto turn = turn_on_gpus(state_->ranks);
  State& s = *state_;
  s.plan(direction);
  s.vectors.reserve_b(s.blocks.n * columns);
  s.vectors.reserve_x(s.blocks.n * columns);
  const u32 passes = s.passes(direction, columns);
  const auto prepare = [&](cuda::TeamRank& rank) {
    s.load(rank, direction);
    cuda::start_copying(s.vectors.b(rank.id()), b, s.bytes(columns), rank.stream());
  };
  const auto start = [&](cuda::TeamRank& rank) {
    s.start(rank, direction, s.vectors.b(rank.id()), s.vectors.x(), columns, false);
  };
  return seconds_on_gpus(s.team, repeats, prepare, start, [&] { s.epochs += passes; });
}

template <class V>
std::vector<TaskTrace> GpuSolve<V>::trace(Direction direction, const V* b) {
  State& s = *state_;
  std::vector<TaskTrace> all(s.plan(direction).tasks.size());
  for (int r = 0; r < s.ranks; r++) {
    const cuda::OnDevice on(s.team.device(r));
    s.times.push_back(OnGpu<TaskTrace>(all));
  }
  std::vector<V> x(std::size_t(s.blocks.n));
  solve(direction, b, x.data());
  std::vector<TaskTrace> of_rank(all.size());
  for (int r = 0; r < s.ranks; r++) {
    const cuda::OnDevice on(s.team.device(r));
    call("cudaMemcpy",
         cudaMemcpy(of_rank.data(), s.times[std::size_t(r)].data(), all.size() * sizeof(TaskTrace), cudaMemcpyDeviceToHost));
    for (i32 t : s.plan(direction).queues[std::size_t(r)]) all[std::size_t(t)] = of_rank[std::size_t(t)];
  }
  s.times.clear();
  return all;
}

template <class V>
GpuMemory GpuSolve<V>::memory(int rank) const {
  const std::size_t r = std::size_t(rank);
  return {state_->tables[r]->value_bytes(), state_->tables[r]->table_bytes(),
          state_->window_bytes() + state_->vectors.bytes(rank) + state_->ordered[r].bytes() + state_->partials[r].bytes()};
}

template <class V>
int GpuSolve<V>::blocks() const {
  const Direction direction = state_->plans[0] ? Direction::forward : Direction::backward;
  const cuda::OnDevice on(state_->team.device(0));
  return state_->grid(0, direction, state_->most_columns[std::size_t(direction)]).blocks;
}

template <class V>
int GpuSolve<V>::most_columns(Direction direction) const {
  return state_->most_columns[std::size_t(direction)];
}

template class GpuSolve<float>;
template class GpuSolve<double>;
template class GpuSolve<Number>;

}  // namespace sordino::trsv
