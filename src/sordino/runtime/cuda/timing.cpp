// Times of single commands: what the first of them noted on the device (Stamp), as spans of the trace and times in the ledger.
// Nothing is launched otherwise than in replays that are not timed.
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {
namespace {

constexpr int most_timed = 512;  // commands of one replay

}  // namespace

/// The device's clock in the host's: a report was seen when it had been written, and a little later.
void CudaProgram::DeviceClock::compare(u64 device, double host) {
  if (device_ == 0 || host < seconds(device)) device_ = device, host_ = host;
}
double CudaProgram::DeviceClock::seconds(u64 device) const { return host_ + double(i64(device - device_)) * 1e-9; }

void CudaProgram::make_stamps() {
  int commands = int(rec_.commands.size());
  if (commands == 0 || (!state_.options.time_commands && !state_.trace().on)) return;
  n_stamps_ = std::max(1, rec_.is_loop ? most_timed / commands : 1) * commands;
  stamps_ = static_cast<Stamp*>(state_.take_memory(mine_, sizeof(Stamp) * std::size_t(n_stamps_), "times of commands"));
  call("cudaHostAlloc",
       cudaHostAlloc(reinterpret_cast<void**>(&stamps_copy_), sizeof(Stamp) * std::size_t(n_stamps_), cudaHostAllocPortable));
  mine_.counters.allocations++;
}

void CudaProgram::free_stamps() {
  cudaFree(stamps_);
  cudaFreeHost(stamps_copy_);
}

void CudaProgram::clear_stamps() {
  clock_ = {};
  if (stamps_) call("cudaMemsetAsync", cudaMemsetAsync(stamps_, 0, sizeof(Stamp) * std::size_t(n_stamps_), mine_.stream));
}

void CudaProgram::book_stamps(int iterations) {
  const int commands = int(rec_.commands.size());
  const int count = int(std::min<i64>(i64(iterations) * commands, n_stamps_));
  call("cudaMemcpyAsync",
       cudaMemcpyAsync(stamps_copy_, stamps_, sizeof(Stamp) * std::size_t(count), cudaMemcpyDeviceToHost, mine_.copies));
  call("cudaStreamSynchronize", cudaStreamSynchronize(mine_.copies));
  Flights flights;
  for (int i = 0; i < count; i++) {
    const Stamp& stamp = stamps_copy_[i];
    book_communication(rec_.commands[std::size_t(i % commands)], i / commands % rec_.period, stamp, flights);
    if (stamp.begin && stamp.end) book_computing(rec_.commands[std::size_t(i % commands)], stamp);
  }
}

/// Its waits for rows included: while one block waits, others compute.
void CudaProgram::book_computing(const Command& c, const Stamp& stamp) {
  auto& k = rank_.ledger.kernels[c.name];
  k.calls++;
  k.seconds += double(stamp.end - stamp.begin) * 1e-9;
  k.bytes += c.bytes;
  k.flops += c.flops;
  add_span(c, SpanKind::compute, c.name, stamp.begin, stamp.end);
}

/// Waits, and what is under way, from where this rank sent its own part until all was there. Ranks that share a device take
/// turns on it, so that nothing is under way.
void CudaProgram::book_communication(const Command& c, int turn, const Stamp& stamp, Flights& flights) {
  if (stamp.waited_reduction)
    add_span(c, SpanKind::reduction_wait, c.name, stamp.finished - stamp.waited_reduction, stamp.finished);
  const bool others = rank_.size() > 1 && !state_.shared;
  u64 waits = stamp.awaited - stamp.waited_halo;  // since then, but for nobody as long as the own rows have not left
  for (auto& p : c.phases) {
    int v = p.op == Op::await || p.op == Op::put ? plan_.physical_vector(turn, p.slot) : -1;
    if (p.op == Op::start && stamp.started) flights.sums[p.slot].push(stamp.started);
    if (p.op == Op::put) flights.rows[v] = stamp.sent ? stamp.sent : stamp.end;
    if (p.op == Op::finish && stamp.finished && !flights.sums[p.slot].empty()) {
      const std::string& name = rank_.scalar_names()[std::size_t(rank_.reductions()[p.slot].to[0])];
      if (others) add_span(c, SpanKind::reduction, name, flights.sums[p.slot].front(), stamp.finished);
      flights.sums[p.slot].pop();
    }
    if (p.op == Op::await && stamp.awaited && flights.rows[v]) {
      if (others) add_span(c, SpanKind::halo, rank_.vectors()[std::size_t(v)].name, flights.rows[v], stamp.awaited);
      waits = std::max(waits, flights.rows[v]);
    }
  }
  if (stamp.waited_halo && waits < stamp.awaited) add_span(c, SpanKind::halo_wait, c.name, waits, stamp.awaited);
}

void CudaProgram::add_span(const Command& c, SpanKind kind, const std::string& name, u64 from, u64 until) {
  state_.trace().add(rank_.id(), c.queue, kind, name, clock_.seconds(from), clock_.seconds(until));
}

}  // namespace sordino::cuda
