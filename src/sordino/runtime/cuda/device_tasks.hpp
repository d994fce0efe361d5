// The device tasks of a program: graphs of what they launch. Such a graph is the body of a conditional node, which a gate opens
// as long as the loop goes on. The node is part of the graph of a chunk; where there is none, each task is launched as a graph
// of its own.
#pragma once
#include <map>
#include <memory>

#include "sordino/runtime/cuda/gate.hpp"
#include "sordino/runtime/cuda/plan.hpp"
#include "sordino/runtime/cuda/task_waits.hpp"

namespace sordino::cuda {

class DeviceTasks {
 public:
  /// Captures, instantiates and uploads the graphs of all tasks, for every turn of the rotation: so their kernels are loaded
  /// before any rank begins.
  DeviceTasks(RankState& memory, const Plan& plan, int period, int ranks);

  /// Adds a gate and the task behind it to the graph that `stream` is being captured to. Throws what the task throws.
  void capture(const Launch& launch, int turn, GateArgs gate, cudaStream_t stream) const;
  /// Launches the task's own graph, into a stream where everything runs in the order of the recording.
  void launch(const Launch& launch, int turn, cudaStream_t stream) const;

 private:
  struct Destroy {
    void operator()(CUstream_st* stream) const { cudaStreamDestroy(stream); }
    void operator()(CUgraphExec_st* graph) const { cudaGraphExecDestroy(graph); }
  };
  using Graph = std::unique_ptr<CUgraphExec_st, Destroy>;

  TaskView view_of(const Launch& launch, int turn, i32 iteration) const;
  Graph graph_of(const Launch& launch, int turn) const;

  RankState& memory_;
  const Plan& plan_;
  const int ranks_;
  std::unique_ptr<CUstream_st, Destroy> aside_;  // what bodies are captured from; nothing runs there
  std::map<std::pair<int, int>, Graph> graphs_;  // by command and turn
};

}  // namespace sordino::cuda
