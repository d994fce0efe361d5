// Recordings with host tasks: launches up to a task, the task, launches up to the next one.
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {

Outcome CudaProgram::replay_segments(int max) {
  begin_replay(max);
  Outcome outcome;
  u32 first_test = 0;
  for (int i = 0; i < max; i++) {
    bool chained = false;
    for (auto& launch : plan_.launches) {
      if (!rec_.commands[launch.command].active(i)) continue;
      if (launch.host.empty()) {
        issue(launch, i, chained);
        chained = chains_;
        continue;
      }
      if (end_segment(i, first_test, outcome)) return outcome;
      first_test = tests_issued_;
      run_host_task(launch, i);
      chained = false;
    }
  }
  if (!end_segment(max, first_test, outcome)) {
    outcome = {max, proceed};
    book(outcome, mine_.window->report[mine_.marks & 1]);
  }
  return outcome;
}

/// Waits for all that was launched; true if the loop has ended.
bool CudaProgram::end_segment(int iterations, u32 first_test, Outcome& outcome) {
  issue_mark(first_test, 0);
  mine_.counters.chunks++;
  const Window::Report& report = await_report(++mine_.marks);
  if (has_exited(report.control, outcome)) {
    book(outcome, report);
    return true;
  }
  outcome = {iterations, proceed};
  take_history(tests_issued_);
  return false;
}

void CudaProgram::run_host_task(const Launch& launch, int iteration) {
  const Command& c = rec_.commands[launch.command];
  int turn = iteration % rec_.period;
  auto words = [&](int v) { return std::size_t(rank_.vectors()[v].length) * sizeof(double); };
  for (int v : c.reads)
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(state_.twin(rank_, plan_.physical_vector(turn, v)), mine_.vectors[plan_.physical_vector(turn, v)].rows,
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
  state_.beat(mine_);
  launch.host[turn]->host({rank_.scalar_values.data(), rank_.scalar_known.data(), map.data(), rank_.scalar_names().data()});
  state_.beat(mine_);
  // Only own rows: ghosts belong to the peers, who may be sending the next ones already.
  for (int v : c.writes)
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(mine_.vectors[plan_.physical_vector(turn, v)].rows, state_.twin(rank_, plan_.physical_vector(turn, v)),
                         std::size_t(rank_.space(rank_.vectors()[v].space).rows) * sizeof(double), cudaMemcpyHostToDevice,
                         mine_.stream));
  for (int s : c.puts) {
    double* staged = &mine_.staging->scalars[map[s]];
    *staged = rank_.scalar_values[map[s]];
    call("cudaMemcpyAsync",
         cudaMemcpyAsync(&mine_.control->scalars[map[s]], staged, sizeof(double), cudaMemcpyHostToDevice, mine_.stream));
  }
}

}  // namespace sordino::cuda
