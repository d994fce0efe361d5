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
        chained = issue(launch, i, chained);
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

/// What a task may have written. Ghosts, and other ranks' rows of a gathered vector, are the peers' to write, who may be
/// sending the next ones already.
std::vector<RowRange> CudaProgram::own_rows(int vector) const {
  const VectorInfo& v = rank_.vectors()[vector];
  if (v.exchange && rank_.space(v.space).replicated) return v.exchange->producer.first;
  return {{0, rank_.space(v.space).rows}};
}

/// An error ends the engine, whether or not the job catches it: commands on their way have counted on the task.
void CudaProgram::call_host_task(Body& task, const Command& c, int iteration, const std::vector<int>& map) {
  std::string where =
      "rank " + std::to_string(rank_.id()) + ": command " + c.name + ", iteration " + std::to_string(iteration) + ": ";
  try {
    task.host({rank_.scalar_values.data(), rank_.scalar_known.data(), map.data(), rank_.scalar_names().data()});
  } catch (const Error& e) {
    state_.raise(e.code(), where + e.what());
  } catch (const std::exception& e) {
    state_.raise(Errc::peer_failed, where + e.what());
  } catch (...) {
    state_.raise(Errc::peer_failed, where + "an exception that is no std::exception");
  }
  if (state_.hall->raised()) state_.fail_as_peers();
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
  for (int s : c.puts) rank_.scalar_values[map[s]] = scalars[map[s]];  // what it does not put stays
  state_.beat(mine_);
  call_host_task(*launch.host[turn], c, iteration, map);
  state_.beat(mine_);
  for (int v : c.writes)
    for (RowRange rows : own_rows(v)) {
      int physical = plan_.physical_vector(turn, v);
      call("cudaMemcpyAsync",
           cudaMemcpyAsync(mine_.vectors[physical].rows + rows.begin, state_.twin(rank_, physical) + rows.begin,
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
