#include "sordino/trsv/cuda/paper_gpu_solve.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/team.hpp"
#include "sordino/trsv/cuda/paper_tables.hpp"
#include "sordino/trsv/cuda/passes.hpp"
#include "sordino/trsv/paper_steps.hpp"

namespace sordino::trsv::paper {
namespace {

using cuda::call;

static_assert(StepTimes().threads == solve_threads && StepTimes().wait_threads == wait_threads, "what is predicted is run");

/// Bounds of ranks on one GPU, all of whose kernels must be there together: streams have queues of their own then, and thread
/// blocks find room.
constexpr int most_sharing = 4, most_blocks_of_sharing = 16;

void validate(const GpuOptions& o) {
  if (o.blocks < 0) bad_argument("the kernel SOLVE has one thread block or more, or 0 for one a block column");
}

/// What a rank's two kernels run in, and how long they do; on the device that is current.
class Actors {
 public:
  Actors() {
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&solve, cudaStreamNonBlocking));
    for (cudaEvent_t* event : {&begin, &begun, &solved, &waited}) call("cudaEventCreate", cudaEventCreate(event));
    void* flag = nullptr;
    call("cudaHostAlloc", cudaHostAlloc(&flag, 2 * sizeof(u32), cudaHostAllocPortable | cudaHostAllocMapped));
    flag_w = static_cast<u32*>(flag);
    std::fill_n(flag_w, 2, 0u);
  }
  ~Actors() {
    for (cudaEvent_t event : {begin, begun, solved, waited}) cudaEventDestroy(event);
    cudaStreamDestroy(solve);
    cudaFreeHost(flag_w);
  }
  Actors(const Actors&) = delete;

  u32* flag_w_on_gpu() const {
    void* p = nullptr;
    call("cudaHostGetDevicePointer", cudaHostGetDevicePointer(&p, flag_w, 0));
    return static_cast<u32*>(p);
  }
  static double seconds(cudaEvent_t from, cudaEvent_t to) {
    float milliseconds = 0;
    call("cudaEventElapsedTime", cudaEventElapsedTime(&milliseconds, from, to));
    return 1e-3 * milliseconds;
  }

  cudaStream_t solve = nullptr;
  cudaEvent_t begin = nullptr, begun = nullptr;    // before WAIT, before SOLVE
  cudaEvent_t solved = nullptr, waited = nullptr;  // behind them
  u32* flag_w = nullptr;                           // [2] of WAIT's thread blocks
};

}  // namespace

template <class V>
struct GpuSolve<V>::State {
  State(const Pattern& pattern, const std::vector<i32>& order, const Layout& layout, const GpuOptions& o)
      : pattern(pattern),
        order(order),
        layout(layout),
        options(o),
        ranks(layout.grid.ranks()),
        team({.ranks = ranks, .devices = o.devices, .window = std::size_t(window_bytes()), .timeout = o.timeout}),
        tickets(std::size_t(ranks), 0) {
    shares = ranks > 1 && team.shares_devices();
    if (shares && (ranks > most_sharing || o.blocks < 1 || o.blocks > most_blocks_of_sharing))
      throw Error(Errc::unsupported, "paper 004's solve on " + std::to_string(ranks) + " ranks needs as many GPUs");
    const i64 n = pattern.n(), count = pattern.count();
    x = team.array<V>(n), sums = team.array<V>(2 * n);
    flag_x = team.array<u32>(count), flag_sum = team.array<u32>(2 * count);
    channel = team.signals("messages of paper 004's triangular solve").channel;
    for (int r = 0; r < ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      parts.push_back(std::make_unique<RankOnGpu<V>>(pattern, order, layout, r));
      actors.push_back(std::make_unique<Actors>());
      b.emplace_back(n), result.emplace_back(n);
    }
  }

  i64 window_bytes() const {
    return 3 * pattern.n() * i64(sizeof(V)) + 3 * i64(pattern.count()) * i64(sizeof(u32)) + (1 << 16);
  }

  void reserve(i64 columns) {
    for (int r = 0; r < ranks; r++) {
      const cuda::OnDevice on(team.device(r));
      for (auto* vectors : {&b, &result})
        if (OnGpu<V>& mine = (*vectors)[std::size_t(r)]; mine.count() < pattern.n() * columns)
          mine = OnGpu<V>(pattern.n() * columns);
    }
  }

  void load(cuda::TeamRank& rank) const {
    rank.load(kernel_wait<V>());
    rank.load(kernel_solve<V>());
  }

  void put(cuda::TeamRank& rank, const V* from, i64 columns) {
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(b[std::size_t(rank.id())].data(), from, std::size_t(pattern.n() * columns) * sizeof(V),
                         cudaMemcpyHostToDevice, rank.stream()));
  }

  /// A solve for one column of b. Behind what is in the rank's stream is nothing that its kernels need, for the host has waited
  /// for that, and then all ranks have met (004-E9).
  void start(cuda::TeamRank& rank, i64 columns, i64 column, u32 epoch) {
    const std::size_t r = std::size_t(rank.id());
    Actors& a = *actors[r];
    PaperTables<V> t = parts[r]->tables();
    t.x = x, t.sums = sums, t.flag_x = flag_x, t.flag_sum = flag_sum, t.channel = channel, t.flag_w = a.flag_w_on_gpu();
    const PaperPass<V> pass{.b = b[r].data() + column,
                            .result = result[r].data() + column,
                            .stride = columns,
                            .epoch = epoch,
                            .first_ticket = tickets[r]};
    call("cudaEventRecord", cudaEventRecord(a.begin, rank.stream()));
    if (ranks > 1) {
      rank.launch({.blocks = 2, .threads = wait_threads}, kernel_wait<V>(), rank.team(), t, pass);  // l.3
      wait_for_flag(rank, a, epoch);
    }
    call("cudaEventRecord", cudaEventRecord(a.begun, a.solve));
    launch_solve(rank, a, t, pass);
    // Streams may share a queue of the device: what waits there for a kernel must not keep another rank's from coming.
    if (shares) rank.barrier();
    call("cudaEventRecord", cudaEventRecord(a.solved, a.solve));
    call("cudaEventRecord", cudaEventRecord(a.waited, rank.stream()));
    call("cudaStreamWaitEvent", cudaStreamWaitEvent(rank.stream(), a.solved, 0));
  }

  /// l.5. The flag has the solve's number, so that nothing is to be cleared (004-E1). Both thread blocks of WAIT must be there,
  /// for those of SOLVE may take all places that are left.
  void wait_for_flag(cuda::TeamRank& rank, Actors& a, u32 epoch) const {
    constexpr double longest = 300;  // seconds, where waits have no bound
    const double begin = seconds_now(), patience = options.timeout > 0 ? options.timeout : longest;
    for (std::size_t k = 0; k < 2; k++)
      while (std::atomic_ref<u32>(a.flag_w[k]).load(std::memory_order_acquire) != epoch)
        if (seconds_now() - begin > patience)
          throw Error(Errc::peer_failed, "rank " + std::to_string(rank.id()) + " waited " + std::to_string(patience) +
                                             " s for its kernel WAIT to begin: other programs may fill its GPU");
  }

  /// l.6
  void launch_solve(cuda::TeamRank& rank, Actors& a, const PaperTables<V>& tables, const PaperPass<V>& pass) {
    if (tables.count == 0) return;
    const i32 blocks = options.blocks > 0 ? std::min(options.blocks, tables.count) : tables.count;
    cuda::DeviceTeam team_of_rank = rank.team();
    PaperTables<V> t = tables;
    PaperPass<V> p = pass;
    void* arguments[] = {&team_of_rank, &t, &p, nullptr};
    call("cudaLaunchKernel", cudaLaunchKernel(reinterpret_cast<const void*>(kernel_solve<V>()), dim3(unsigned(blocks)),
                                              dim3(solve_threads), arguments, 0, a.solve));
    tickets[std::size_t(rank.id())] += u32(tables.count + (blocks < tables.count ? blocks : 0));
  }

  GpuSeconds seconds_of_last(int rank) const {
    const Actors& a = *actors[std::size_t(rank)];
    const double kernel = Actors::seconds(a.begun, a.solved);
    if (ranks == 1) return {kernel, kernel};
    return {std::max(Actors::seconds(a.begin, a.solved), Actors::seconds(a.begin, a.waited)),
            std::max(kernel, Actors::seconds(a.begun, a.waited))};
  }

  const Pattern& pattern;
  std::vector<i32> order;
  const Layout& layout;
  GpuOptions options;
  int ranks;
  bool shares = false;  // ranks are on one GPU
  cuda::Team team;
  cuda::Symmetric<V> x, sums;
  cuda::Symmetric<u32> flag_x, flag_sum;
  i32 channel = 0;
  u32 epochs = 0;            // solves so far
  std::vector<u32> tickets;  // [ranks] that all solves so far have taken
  std::vector<std::unique_ptr<RankOnGpu<V>>> parts;
  std::vector<std::unique_ptr<Actors>> actors;
  std::vector<OnGpu<V>> b, result;  // [n][columns]
};

template <class V>
GpuSolve<V>::GpuSolve(const Factor<V>& factor, const Layout& layout, const GpuOptions& options) {
  validate(options);
  state_ = std::make_unique<State>(factor.pattern(), factor.order(), layout, options);
  update(factor);
}

template <class V>
GpuSolve<V>::GpuSolve(const Pattern& pattern, const Layout& layout, const GpuOptions& options) {
  validate(options);
  std::vector<i32> order(std::size_t(pattern.n()));
  for (std::size_t k = 0; k < order.size(); k++) order[k] = i32(k);
  state_ = std::make_unique<State>(pattern, order, layout, options);
  for (int r = 0; r < state_->ranks; r++) {
    const cuda::OnDevice on(state_->team.device(r));
    state_->parts[std::size_t(r)]->invent();
  }
}

template <class V>
GpuSolve<V>::~GpuSolve() = default;

template <class V>
void GpuSolve<V>::update(const Factor<V>& factor) {
  const Pattern &mine = state_->pattern, &other = factor.pattern();
  if (mine.column != other.column || mine.row != other.row || mine.rows != other.rows || state_->order != factor.order())
    bad_argument("new values of a triangle must have its pattern and block columns, and these have other ones");
  for (int r = 0; r < state_->ranks; r++) {
    const cuda::OnDevice on(state_->team.device(r));
    state_->parts[std::size_t(r)]->fill(factor);
  }
}

template <class V>
void GpuSolve<V>::solve(const V* b, V* x, i64 columns) {
  Range range("sordino: paper 004's triangular solve on GPUs");
  const auto turn = turn_on_gpus(state_->ranks);
  State& s = *state_;
  const i64 n = s.pattern.n();
  s.reserve(columns);
  std::vector<std::vector<V>> found(std::size_t(s.ranks), std::vector<V>(std::size_t(n * columns)));
  s.team.run([&](cuda::TeamRank& rank) {
    s.load(rank);
    s.put(rank, b, columns);
    for (i64 k = 0; k < columns; k++) {
      rank.wait();
      rank.barrier();
      s.start(rank, columns, k, s.epochs + 1 + u32(k));
    }
    std::vector<V>& mine = found[std::size_t(rank.id())];
    call("cudaMemcpyAsync", cudaMemcpyAsync(mine.data(), s.result[std::size_t(rank.id())].data(), mine.size() * sizeof(V),
                                            cudaMemcpyDeviceToHost, rank.stream()));
    rank.wait();
  });
  s.epochs += u32(columns);
  for (i32 K = 0; K < s.pattern.count(); K++)
    for (i32 j = s.pattern.column[std::size_t(K)]; j < s.pattern.column[std::size_t(K) + 1]; j++) {
      const i64 at = s.order[std::size_t(j)] * columns;
      std::copy_n(found[std::size_t(s.layout.grid.owner(K, K))].data() + at, columns, x + at);
    }
}

template <class V>
std::vector<GpuSeconds> GpuSolve<V>::time(const V* b, int repeats) {
  const auto turn = turn_on_gpus(state_->ranks);
  State& s = *state_;
  std::vector<GpuSeconds> slowest;
  std::vector<GpuSeconds> of_ranks(std::size_t(s.ranks));
  for (int k = 0; k < repeats; k++) {
    s.team.run([&](cuda::TeamRank& rank) {
      s.load(rank);
      s.put(rank, b, 1);
      rank.wait();
      rank.barrier();
      s.start(rank, 1, 0, s.epochs + 1);
      rank.wait();
      of_ranks[std::size_t(rank.id())] = s.seconds_of_last(rank.id());
    });
    s.epochs++;
    GpuSeconds& most = slowest.emplace_back();
    for (const GpuSeconds& one : of_ranks) most = {std::max(most.whole, one.whole), std::max(most.kernel, one.kernel)};
  }
  return slowest;
}

template <class V>
GpuMemory GpuSolve<V>::memory(int rank) const {
  const std::size_t r = std::size_t(rank);
  const RankOnGpu<V>& part = *state_->parts[r];
  return {part.value_bytes(), part.table_bytes(),
          state_->window_bytes() + part.vector_bytes() + state_->b[r].bytes() + state_->result[r].bytes()};
}

template class GpuSolve<float>;
template class GpuSolve<double>;
template class GpuSolve<Number>;

}  // namespace sordino::trsv::paper
