// How a program's launches reach the stream: one by one, or captured once into a graph of a chunk of iterations.
#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/capture.hpp"
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {

// Used for capturing, where iterations count from the chunk's first, and for launching, where they count from the replay's: a
// chunk is a multiple of the cycle, so turns and predicates are the same.
void CudaProgram::issue_iterations(int first, int last) {
  streams_.fork(plan_.device_tasks && !as_graph_);  // a task's own graph knows no order but the stream's
  handed_on_.reset();
  for (int i = first; i < last; i++)
    for (auto& launch : plan_.launches)
      if (rec_.commands[launch.command].active(i)) issue(launch, i, i + 1 < last || &launch != &plan_.launches.back());
  streams_.join();
}

/// What a launch is told in this iteration. Counts up epochs and exit tests.
Args CudaProgram::told(const Launch& launch, int iteration) {
  Args a = launch.args[iteration % rec_.period];
  a.iteration = iteration;
  a.history = history_;
  a.history_mask = history_mask_;
  a.history_offset = tests_issued_;
  a.stamps = stamps_;
  a.n_stamps = n_stamps_;
  auto next = [&](EpochRef& e) { e.offset = ++offsets_[e.index]; };
  for (int j = 0; j < a.n_finishes; j++) next(a.finish[j].epoch);
  for (int j = 0; j < a.n_awaits; j++) next(a.await[j].epoch);
  for (int j = 0; j < a.n_puts; j++) next(a.put[j].epoch);
  if (a.start.slot >= 0) next(a.start.epoch);
  tests_issued_ += launch.tests;
  return a;
}

/// What the next launch is told, where it collects the sums that this one starts.
CollectArgs CudaProgram::collected(const Launch& launch, const Args& a) const {
  CollectArgs c;
  c.control = a.control;
  c.epochs = a.epochs;
  c.engine = a.engine;
  c.ranks = a.ranks;
  c.command = a.command;
  c.commands = a.commands;
  c.iteration = a.iteration;
  c.values = mine_.reductions[a.start.slot].values;
  c.blocks = launch.blocks;
  c.start = a.start;
  c.stamps = a.stamps;
  c.n_stamps = a.n_stamps;
  c.mute_at = a.mute_at;
  return c;
}

/// `followed`: another launch of the same stretch comes behind it.
void CudaProgram::issue(const Launch& launch, int iteration, bool followed) {
  if (launch.task) return issue_task(launch, iteration);
  int turn = iteration % rec_.period;
  Args a = told(launch, iteration);
  a.start.handed_on = launch.hands_on && followed;
  const std::optional<CollectArgs> collect = std::exchange(handed_on_, {});
  if (a.start.handed_on) handed_on_ = collected(launch, a);
  if (state_.shared) follow_peers(launch, turn);
  Streams::Place place = streams_.enter(launch.command);
  launch.turns[turn]->launch(a, launch.blocks, place.stream, chains_ && place.follows, collect ? &*collect : nullptr);
  if (state_.shared) signal_peers(launch, turn);
  if (state_.nccl)
    for (auto& parcel : launch.parcels[turn]) {
      exchange(parcel, launch.command, iteration);
      streams_.interrupt(launch.command);
    }
  streams_.leave(launch.command);
}

/// Where there is a graph, launches are only issued to be captured. What comes next begins when all of the task has ended.
void CudaProgram::issue_task(const Launch& launch, int iteration) {
  int turn = iteration % rec_.period;
  Streams::Place place = streams_.enter(launch.command);
  GateArgs at{.control = &mine_.control->control, .command = launch.command, .commands = i32(rec_.commands.size())};
  at.iteration = iteration;
  at.in_order = !as_graph_;
  at.stamps = stamps_;
  at.n_stamps = n_stamps_;
  if (stamps_) launch_note(at, TaskNote::begin, place.stream);
  if (as_graph_)
    tasks_.capture(launch, turn, at, place.stream);
  else
    tasks_.launch(launch, turn, place.stream);
  if (stamps_) launch_note(at, TaskNote::end, place.stream);
  streams_.interrupt(launch.command);
  streams_.leave(launch.command);
}

void CudaProgram::issue_mark(u32 first_test, int iterations) {
  MarkArgs m;
  m.device = mine_.control;
  m.window = mine_.window;
  m.engine = mine_.pulse;
  m.history = history_;
  m.history_copy = history_copy_;
  m.history_mask = history_mask_;
  m.first_test = first_test;
  m.tests = tests_issued_ - first_test;
  m.increments = iterations > 0 ? increments_ : nullptr;
  m.n_epochs = plan_.epoch_count();
  m.n_scalars = scalars_;
  m.iterations = iterations;
  m.rank = mine_.index;
  m.repeats = repeats_ && iterations > 0;
  m.again = again_;
  launch_mark(m, mine_.stream);
}

void CudaProgram::build_graph() {
  Range range("capture a graph");
  offsets_.assign(plan_.epoch_count(), 0);
  tests_issued_ = 0;
  if (plan_.resident) make_steps();
  if (!increments_)
    increments_ = static_cast<u32*>(state_.take_memory(mine_, sizeof(u32) * (offsets_.size() + 1), "a recording's epochs"));
  cudaGraph_t graph = repeats_ ? capture_repeated_chunk() : capture_chunk(nullptr);
  cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
  cudaGraphDestroy(graph);
  call("cudaGraphInstantiate", made);
  mine_.counters.allocations++;
  call("cudaGraphUpload", cudaGraphUpload(graph_, mine_.stream));
  state_.copy_in(mine_, increments_, offsets_.data(), sizeof(u32) * offsets_.size());
  state_.engine.barrier(rank_);  // nobody's commands wait for a rank that is still busy here
}

/// Into `body`, or, if that is null, into a graph of its own.
cudaGraph_t CudaProgram::capture_chunk(cudaGraph_t body) {
  return captured(mine_.stream, body, [&] {
    if (plan_.resident)
      launch_resident();
    else
      issue_iterations(0, chunk_);
    issue_mark(0, chunk_);
  });
}

/// A graph of one WHILE node, whose body is the chunk. Its mark says whether to go on.
cudaGraph_t CudaProgram::capture_repeated_chunk() {
  cudaGraph_t graph = nullptr;
  call("cudaGraphCreate", cudaGraphCreate(&graph, 0));
  try {
    call("cudaGraphConditionalHandleCreate", cudaGraphConditionalHandleCreate(&again_, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop{};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = again_;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node = nullptr;
    call("cudaGraphAddNode", cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop));
    capture_chunk(loop.conditional.phGraph_out[0]);
  } catch (...) {
    cudaGraphDestroy(graph);
    throw;
  }
  return graph;
}

// Two chunks are on their way while the host reads a third one's: a ring of four.
void CudaProgram::allocate_history(i64 tests_in_a_chunk) {
  u32 size = 64;
  while (size < 4 * u32(tests_in_a_chunk)) size *= 2;
  history_ = reinterpret_cast<double*>(state_.take_kept(mine_, size * sizeof(double), "a loop's history"));
  // A chunk that ends early copies the places of its later tests, too.
  call("cudaMemsetAsync", cudaMemsetAsync(history_, 0, size * sizeof(double), mine_.stream));
  history_copy_ = reinterpret_cast<double*>(mine_.notes.give(i64(size * sizeof(double))));
  history_mask_ = size - 1;
}

// --- ranks that share a device -----------------------------------------------------------------------------------------------
// A launch that waits for others is put into the stream only after what it waits for, so it never spins.

void CudaProgram::follow_peers(const Launch& launch, int turn) {
  for (int slot : launch.finishes)
    for (int p = 0; p < rank_.size(); p++)
      if (p != rank_.id()) state_.follow(rank_, *mine_.reduction_channels[slot], p, &RankState::reduction_channels, slot);
  for (int v : launch.awaits[turn])
    for (auto& p : rank_.vectors()[v].exchange->peers)
      state_.follow(rank_, *mine_.vector_channels[v], p.rank, &RankState::vector_channels, v);
}

void CudaProgram::signal_peers(const Launch& launch, int turn) {
  for (int slot : launch.starts) state_.signal(mine_, *mine_.reduction_channels[slot]);
  for (int v : launch.puts[turn]) state_.signal(mine_, *mine_.vector_channels[v]);
}

}  // namespace sordino::cuda
