// Times of single commands: events around the first launches of a replay that is not captured. They hold what a command takes
// on the device, its waits for other ranks included.
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {

namespace {
constexpr std::size_t most_timed = 256;  // commands of one replay
}

void CudaProgram::begin_command(int command, int iteration) {
  if (timed_.empty()) {
    for (std::size_t i = 0; i < most_timed; i++) {
      TimedCommand t{};
      call("cudaEventCreate", cudaEventCreate(&t.begin));
      call("cudaEventCreate", cudaEventCreate(&t.end));
      timed_.push_back(t);
    }
    mine_.counters.allocations++;
  }
  if (timed_count_ == most_timed) return;
  TimedCommand& t = timed_[timed_count_];
  t.command = command;
  t.iteration = iteration;
  if (timed_count_ == 0) timing_since_ = seconds_now();
  call("cudaEventRecord", cudaEventRecord(t.begin, mine_.stream));
}

void CudaProgram::end_command() {
  if (timed_count_ == most_timed) return;
  call("cudaEventRecord", cudaEventRecord(timed_[timed_count_++].end, mine_.stream));
}

void CudaProgram::book_times(const Outcome& outcome, int exit_command) {
  for (std::size_t i = 0; i < timed_count_; i++) {
    TimedCommand& t = timed_[i];
    if (t.iteration >= outcome.iterations) break;
    if (exit_command >= 0 && t.iteration == outcome.iterations - 1 && t.command >= exit_command) break;
    call("cudaEventSynchronize", cudaEventSynchronize(t.end));
    float since = 0, took = 0;
    call("cudaEventElapsedTime", cudaEventElapsedTime(&since, timed_[0].begin, t.begin));
    call("cudaEventElapsedTime", cudaEventElapsedTime(&took, t.begin, t.end));
    const Command& c = rec_.commands[t.command];
    auto& k = rank_.ledger.kernels[c.name];
    k.calls++;
    k.seconds += took * 1e-3;
    k.bytes += c.bytes;
    k.flops += c.flops;
    double begin = timing_since_ + since * 1e-3;
    state_.trace().add(rank_.id(), c.queue, SpanKind::compute, c.name, begin, begin + took * 1e-3);
  }
}

}  // namespace sordino::cuda
