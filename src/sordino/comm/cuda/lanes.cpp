#include "sordino/comm/cuda/lanes.hpp"

#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {

Lanes::Lanes(const Team& team, double longest) : lanes_(std::size_t(team.size())), longest_(longest) {
  try {
    for (int r = 0; r < size(); r++) {
      Lane& lane = lanes_[std::size_t(r)];
      lane.device = team.device(r);
      OnDevice on(lane.device);
      call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
      call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&lane.reached, cudaEventDisableTiming));
    }
    OnDevice on(lanes_[0].device);
    call("cudaEventCreate", cudaEventCreate(&begin_));
    call("cudaEventCreate", cudaEventCreate(&end_));
  } catch (...) {
    release();
    throw;
  }
}

Lanes::~Lanes() { release(); }

void Lanes::release() {
  for (Lane& lane : lanes_) {
    if (lane.stream) cudaStreamDestroy(lane.stream);
    if (lane.reached) cudaEventDestroy(lane.reached);
  }
  for (cudaEvent_t e : {begin_, end_})
    if (e) cudaEventDestroy(e);
}

// --- order -----------------------------------------------------------------------------------------------------------------

void Lanes::record(int lane) {
  const Lane& l = lanes_[std::size_t(lane)];
  call("cudaEventRecord", cudaEventRecord(l.reached, l.stream));
}

void Lanes::await(int lane, int other) {
  call("cudaStreamWaitEvent", cudaStreamWaitEvent((*this)[lane], lanes_[std::size_t(other)].reached, 0));
}

void Lanes::follow(int lane, int other) {
  if (lane == other) return;
  record(other);
  await(lane, other);
}

void Lanes::join() {
  for (int lane = 0; lane < size(); lane++) record(lane);
  for (int lane = 0; lane < size(); lane++)
    for (int k = 1; k < size(); k++) await(lane, (lane + k) % size());
}

void Lanes::spread() {
  record(0);
  for (int lane = 1; lane < size(); lane++) await(lane, 0);
}

void Lanes::gather() {
  for (int lane = 1; lane < size(); lane++) follow(0, lane);
}

void Lanes::launch(int lane, int blocks, const void* kernel, void** arguments) {
  OnDevice on(device(lane));
  call("cudaLaunchKernel", cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(threads), arguments, 0, (*this)[lane]));
}

// --- the host ----------------------------------------------------------------------------------------------------------------

void Lanes::wait() {
  double begin = seconds_now();
  for (int lane = 0; lane < size(); lane++)
    for (;;) {
      cudaError_t e = cudaStreamQuery((*this)[lane]);
      if (e == cudaSuccess) break;
      if (e != cudaErrorNotReady) call("what a device was given", e);
      if (seconds_now() - begin > longest_)
        throw Error(Errc::device, "device " + std::to_string(device(lane)) + " does not come back from what it was given");
      std::this_thread::yield();
    }
}

void Lanes::synchronize(int lane) { call("cudaStreamSynchronize", cudaStreamSynchronize((*this)[lane])); }

std::vector<double> Lanes::time_batches(int batches, int rounds, const std::function<void()>& issue_all) {
  std::vector<double> seconds;
  for (int b = 0; b <= batches; b++) {
    wait();
    call("cudaEventRecord", cudaEventRecord(begin_, (*this)[0]));
    issue_all();
    call("cudaEventRecord", cudaEventRecord(end_, (*this)[0]));
    wait();
    float ms = 0;
    call("cudaEventElapsedTime", cudaEventElapsedTime(&ms, begin_, end_));
    if (b > 0) seconds.push_back(ms * 1e-3 / rounds);
  }
  return seconds;
}

std::vector<double> Lanes::time(int batches, int rounds, const std::function<void()>& issue) {
  return time_batches(batches, rounds, [&] {
    spread();
    for (int n = 0; n < rounds; n++) issue();
    gather();
  });
}

cudaGraphExec_t Lanes::captured(int rounds, const std::function<void()>& issue) {
  cudaGraph_t graph = nullptr;
  call("cudaStreamBeginCapture", cudaStreamBeginCapture((*this)[0], cudaStreamCaptureModeThreadLocal));
  try {
    spread();
    for (int n = 0; n < rounds; n++) issue();
    gather();
  } catch (...) {
    cudaStreamEndCapture((*this)[0], &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  call("cudaStreamEndCapture", cudaStreamEndCapture((*this)[0], &graph));
  cudaGraphExec_t exec = nullptr;
  cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  call("cudaGraphInstantiate", made);
  return exec;
}

std::vector<double> Lanes::time_graph(int batches, int rounds, const std::function<void()>& issue) {
  OnDevice on(device(0));
  struct Graph {
    cudaGraphExec_t exec = nullptr;
    ~Graph() {
      if (exec) cudaGraphExecDestroy(exec);
    }
  } graph;
  try {
    graph.exec = captured(rounds, issue);
  } catch (const Error& e) {
    throw Error(Errc::unsupported, std::string("no graph over these devices: ") + e.what());
  }
  return time_batches(batches, rounds, [&] { call("cudaGraphLaunch", cudaGraphLaunch(graph.exec, (*this)[0])); });
}

// --- without peer access
// -------------------------------------------------------------------------------------------------------

WithoutPeers::WithoutPeers(const Lanes& lanes) {
  try {
    for (int a = 0; a < lanes.size(); a++)
      for (int b = 0; b < lanes.size(); b++) {
        if (a == b) continue;
        OnDevice on(lanes.device(a));
        call("cudaDeviceDisablePeerAccess", cudaDeviceDisablePeerAccess(lanes.device(b)));
        disabled_.push_back({lanes.device(a), lanes.device(b)});
      }
  } catch (...) {
    enable();
    throw;
  }
}

WithoutPeers::~WithoutPeers() { enable(); }

// Errors are not thrown from here; whoever needs peer access next says that it is not there.
void WithoutPeers::enable() {
  int before = 0;
  cudaGetDevice(&before);
  for (auto [a, b] : disabled_) {
    cudaSetDevice(a);
    cudaDeviceEnablePeerAccess(b, 0);
  }
  cudaSetDevice(before);
}

}  // namespace sordino::cuda
