#include "sordino/trsv/cuda/level_gpu_solve.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/pointers.hpp"
#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/level_kernel.hpp"
#include "sordino/trsv/cuda/solve_vectors.hpp"

namespace sordino::trsv {

using cuda::call;

template <class V>
struct LevelGpuSolve<V>::State {
  State(const LevelFactor<V>& factor, const Plan& p, const GpuOptions& o)
      : n(factor.rows(p.direction).n),
        plan(p),
        rows(factor.rows(p.direction)),
        options(o),
        team({.ranks = p.ranks, .devices = o.devices, .window = std::size_t(window_bytes()), .timeout = o.timeout}),
        vectors(team),
        launched(std::size_t(p.ranks)) {
    if (plan.ranks > 1 && team.shares_devices())
      throw Error(Errc::unsupported, "a triangular solve on " + std::to_string(plan.ranks) + " ranks needs as many GPUs");
    for (auto& x_of : x) x_of = team.array<V>(n * options.most_columns);
    ended = team.array<u32>(plan.ranks);
    channel = team.signals("rows of a triangular solve").channel;
    for (int r = 0; r < plan.ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      for (const auto& x_of : x)
        call("cudaMemset", cudaMemset(team.on(r).mine(x_of), no_number, std::size_t(x_of.count) * sizeof(V)));
      call("cudaDeviceSynchronize", cudaDeviceSynchronize());
      Launched& l = launched[std::size_t(r)];
      l.part = std::make_unique<LevelPart<V>>(rows, plan, r);
      for (int k = 0, columns = 1; columns <= options.most_columns; k++, columns *= 2) l.blocks[k] = blocks_of(r, columns);
    }
  }

  /// Of passes that nobody has waited for.
  ~State() { settle_quietly(team); }

  i64 window_bytes() const { return 2 * n * options.most_columns * i64(sizeof(V)) + (1 << 16); }

  int blocks_of(int rank, int columns) const {
    if (options.blocks > 0) return options.blocks;
    int at_once = 0, multiprocessors = 0;
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, reinterpret_cast<const void*>(level_kernel<V>(columns)),
                                                       level_threads, 0));
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, team.device(rank)));
    return std::min(at_once, level_blocks_at_once) * multiprocessors;
  }

  /// Before a barrier of the ranks; once, for a kernel stays as it was loaded.
  void load(cuda::TeamRank& rank) {
    if (std::exchange(launched[std::size_t(rank.id())].loaded, true)) return;
    for (int some = 1; some <= options.most_columns; some *= 2) rank.load(level_kernel<V>(some));
  }

  /// All passes over so many columns, in the rank's stream: from b, on the rank's GPU, to x, which all ranks reach.
  void start(cuda::TeamRank& rank, const V* from, V* to, i64 columns, bool conjugate) {
    Launched& l = launched[std::size_t(rank.id())];
    u32 epoch = epochs;
    for (i64 first = 0; first < columns;) {
      const int some = size_of_pass(columns - first, options.most_columns).columns;
      LevelTables<V> t = l.part->tables();
      t.x[0] = x[0], t.x[1] = x[1], t.ended = ended, t.channel = channel;
      const int blocks = l.blocks[some == 8 ? 3 : some / 2];
      const LevelPass<V> pass{.b = from + first,
                              .result = to + first,
                              .stride = columns,
                              .used = std::exchange(l.used, n * some),
                              .not_finite = vectors.not_finite(),
                              .epoch = ++epoch,
                              .first_ticket = l.tickets,
                              .conjugate = conjugate};
      rank.launch({.blocks = blocks, .threads = level_threads}, level_kernel<V>(some), rank.team(), t, pass);
      l.tickets += u32(t.count * some + blocks * level_warps);
      first += some;
    }
  }
  void count(i64 columns) { epochs += passes_of(columns, options.most_columns); }

  i64 n;
  const Plan& plan;
  const LevelRows& rows;
  GpuOptions options;
  cuda::Team team;
  SolveVectors<V> vectors;  // of callers: [n][columns]
  cuda::Symmetric<V> x[2];
  cuda::Symmetric<u32> ended;
  i32 channel = 0;
  u32 epochs = 0;  // passes so far
  struct Launched {
    std::unique_ptr<LevelPart<V>> part;
    int blocks[4] = {};  // for passes of 1, 2, 4, 8 columns
    u32 tickets = 0;     // that all passes so far have taken
    i64 used = 0;        // numbers of x that the last pass has written
    bool loaded = false;
  };
  std::vector<Launched> launched;
};

template <class V>
LevelGpuSolve<V>::LevelGpuSolve(const LevelFactor<V>& factor, const Plan& plan, const GpuOptions& options) {
  validate(options);
  state_ = std::make_unique<State>(factor, plan, options);
  update(factor);
}

template <class V>
LevelGpuSolve<V>::~LevelGpuSolve() = default;

template <class V>
void LevelGpuSolve<V>::update(const LevelFactor<V>& factor) {
  state_->team.settle();
  for (int r = 0; r < state_->plan.ranks; r++) {
    const cuda::OnDevice on(state_->team.device(r));
    state_->launched[std::size_t(r)].part->fill(factor);
  }
}

template <class V>
bool LevelGpuSolve<V>::solve(const V* b, V* x, i64 columns, bool conjugate, const InStream& in) {
  Range range("sordino: triangular solve by levels on GPUs");
  const auto turn = turn_on_gpus(state_->plan.ranks);
  State& s = *state_;
  const auto load = [&](cuda::TeamRank& rank) { s.load(rank); };
  const auto start = [&](cuda::TeamRank& rank, const V* from, V* to) { s.start(rank, from, to, columns, conjugate); };
  const bool finite = s.vectors.solve(b, x, s.n * columns, in, s.epochs, load, start);
  s.count(columns);
  return finite;
}

template <class V>
void LevelGpuSolve<V>::settle() {
  state_->team.settle();
}

template <class V>
bool LevelGpuSolve<V>::has_failed() const {
  return state_->team.has_failed();
}

template <class V>
std::vector<double> LevelGpuSolve<V>::time(const V* b, i64 columns, int repeats) {
  const auto turn = turn_on_gpus(state_->plan.ranks);
  State& s = *state_;
  s.vectors.reserve_b(s.n * columns);
  s.vectors.reserve_x(s.n * columns);
  const auto prepare = [&](cuda::TeamRank& rank) {
    s.load(rank);
    cuda::start_copying(s.vectors.b(rank.id()), b, std::size_t(s.n * columns) * sizeof(V), rank.stream());
  };
  const auto start = [&](cuda::TeamRank& rank) { s.start(rank, s.vectors.b(rank.id()), s.vectors.x(), columns, false); };
  return seconds_on_gpus(s.team, repeats, prepare, start, [&] { s.count(columns); });
}

template <class V>
GpuMemory LevelGpuSolve<V>::memory(int rank) const {
  const auto& l = state_->launched[std::size_t(rank)];
  return {l.part->value_bytes(), l.part->table_bytes(), state_->window_bytes() + state_->vectors.bytes(rank)};
}

template class LevelGpuSolve<float>;
template class LevelGpuSolve<double>;
template class LevelGpuSolve<Number>;

}  // namespace sordino::trsv
