// Recordings with host tasks: launches up to a task, the task, launches up to the next one.
#include "sordino/base/range.hpp"
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {

/// The next one of the replay; null: there is none.
const Launch* CudaProgram::next_launch() {
  for (; issued_ < max_; issued_++, next_launch_ = 0)
    for (; next_launch_ < plan_.launches.size(); next_launch_++)
      if (rec_.commands[plan_.launches[next_launch_].command].active(issued_)) return &plan_.launches[next_launch_];
  return nullptr;
}

CudaProgram::Chunk CudaProgram::issue_segment() {
  int first = issued_;
  u32 first_test = tests_issued_;
  streams_.fork();
  for (const Launch* launch = next_launch(); launch && launch->host.empty(); launch = next_launch()) {
    issue(*launch, issued_, false);
    next_launch_++;
  }
  issue_mark(first_test, 0);
  mine_.counters.chunks++;
  return {first, issued_, ++mine_.marks};
}

/// When all that was launched before it has ended; false: there is none left.
bool CudaProgram::run_next_host_task() {
  const Launch* launch = next_launch();
  if (!launch) return false;
  run_host_task(*launch, issued_);
  next_launch_++;
  return true;
}

/// What a task may have written. Ghosts, and other ranks' rows of a gathered vector, are the peers' to write, who may be
/// sending the next ones already.
std::vector<RowRange> CudaProgram::own_rows(int vector) const {
  const VectorInfo& v = rank_.vectors()[vector];
  if (v.exchange && rank_.space(v.space).replicated) return v.exchange->producer.first;
  return {{0, rank_.space(v.space).rows}};
}

/// An error ends the engine, whether or not the job catches it: commands on their way have counted on the task.
void CudaProgram::call_host_task(Body& task, const Command& c, int iteration, const std::vector<int>& map) {
  Range range(c.name);
  std::string where =
      "rank " + std::to_string(rank_.id()) + ": command " + c.name + ", iteration " + std::to_string(iteration) + ": ";
  try {
    task.host({rank_.scalar_values.data(), rank_.scalar_known.data(), map.data(), rank_.scalar_names().data()});
  } catch (...) {
    state_.raise(caught(where, {.rank = rank_.id(), .command = c.name, .iteration = iteration}));
  }
  if (state_.hall->raised()) state_.fail_as_peers();
}

void CudaProgram::run_host_task(const Launch& launch, int iteration) {
  const Command& c = rec_.commands[launch.command];
  int turn = iteration % rec_.period;
  auto words = [&](int v) { return std::size_t(rank_.vectors()[v].length) * sizeof(double); };
  for (int v : c.reads)
    call("cudaMemcpyAsync", cudaMemcpyAsync(mine_.twins.at(v).words, mine_.vectors[plan_.physical_vector(turn, v)].rows,
                                            words(v), cudaMemcpyDeviceToHost, mine_.stream));
  call("cudaStreamSynchronize", cudaStreamSynchronize(mine_.stream));
  const double* scalars = mine_.window->report[mine_.marks & 1].scalars;
  const std::vector<int>& map = plan_.scalar_map(turn);
  auto take = [&](int logical) {
    rank_.scalar_values[map[logical]] = scalars[map[logical]];
    rank_.scalar_known[map[logical]] = 1;  // the replay began with a check that all scalars get their values in time
  };
  for (int s : c.gets) take(s);
  for (int s : c.finishes) take(s);
  for (int s : c.puts) rank_.scalar_values[map[s]] = scalars[map[s]];  // what it does not put stays
  state_.beat(mine_);
  call_host_task(*launch.host[turn], c, iteration, map);
  state_.beat(mine_);
  for (int v : c.writes)
    for (RowRange rows : own_rows(v)) {
      double* device = mine_.vectors[plan_.physical_vector(turn, v)].rows;
      call("cudaMemcpyAsync", cudaMemcpyAsync(device + rows.begin, mine_.twins.at(v).words + rows.begin,
                                              std::size_t(rows.size()) * sizeof(double), cudaMemcpyHostToDevice, mine_.stream));
    }
  for (int s : c.puts) {
    double* staged = &mine_.staging->scalars[map[s]];
    *staged = rank_.scalar_values[map[s]];
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(&mine_.control->scalars[map[s]], staged, sizeof(double), cudaMemcpyHostToDevice, mine_.stream));
  }
}

}  // namespace sordino::cuda
