#include "sordino/runtime/cuda/device_tasks.hpp"

#include "sordino/runtime/cuda/capture.hpp"

namespace sordino::cuda {
namespace {

/// The graph that a stream is being captured to, and the nodes that what comes next follows.
struct Captured {
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* last = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
};

Captured look_at_capture(cudaStream_t stream) {
  Captured c;
  cudaStreamCaptureStatus status{};
  call("cudaStreamGetCaptureInfo", cudaStreamGetCaptureInfo(stream, &status, nullptr, &c.graph, &c.last, &c.edges, &c.count));
  return c;
}

/// An error says whose launches it is about.
template <class Work>
void naming(const DeviceTask& task, const Work& work) {
  try {
    work();
  } catch (...) {
    throw caught("command " + task.name + ", whose launches are captured: ", {.command = task.name});
  }
}

struct DestroyGraph {
  void operator()(CUgraph_st* graph) const { cudaGraphDestroy(graph); }
};
using OwnedGraph = std::unique_ptr<CUgraph_st, DestroyGraph>;

bool may_stand_behind_a_gate(cudaGraphNodeType type) {
  return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset ||
         type == cudaGraphNodeTypeEmpty;
}

/// Looked at before the node is added to another graph, so that nobody else's is spoilt by what it holds.
void require_plain_nodes(cudaGraph_t graph) {
  std::size_t count = 0;
  call("cudaGraphGetNodes", cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) call("cudaGraphGetNodes", cudaGraphGetNodes(graph, nodes.data(), &count));
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    call("cudaGraphNodeGetType", cudaGraphNodeGetType(node, &type));
    if (!may_stand_behind_a_gate(type))
      throw Error(Errc::unsupported, "of what it launched a part is neither a kernel nor a copy nor a memset");
  }
}

/// What the task launches, in a graph of its own: if that is spoilt, nothing else is.
OwnedGraph launches_of(const DeviceTask& task, const DeviceView& view) {
  OwnedGraph graph;
  naming(task, [&] {
    graph.reset(captured(view.stream(), nullptr, [&] {
      cudaGetLastError();  // what others left there
      task.on_device(view);
      call("a launch", cudaGetLastError());
    }));
    require_plain_nodes(graph.get());
  });
  return graph;
}

}  // namespace

DeviceTasks::DeviceTasks(RankState& memory, const Plan& plan, int period, int ranks)
    : memory_(memory), plan_(plan), ranks_(ranks) {
  if (!plan_.device_tasks) return;
  prepare_gate();
  cudaStream_t aside = nullptr;
  call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking));
  aside_.reset(aside);
  for (auto& launch : plan_.launches)
    for (int turn = 0; launch.task && turn < period; turn++)
      graphs_.emplace(std::pair(launch.command, turn), graph_of(launch, turn));
  memory_.counters.allocations += 1 + i64(graphs_.size());
}

void DeviceTasks::capture(const Launch& launch, int turn, GateArgs gate, cudaStream_t stream) const {
  const OwnedGraph launches = launches_of(*launch.task, view_of(launch, turn, gate.iteration));
  cudaGraph_t graph = look_at_capture(stream).graph;
  call("cudaGraphConditionalHandleCreate", cudaGraphConditionalHandleCreate(&gate.go, graph, 0, cudaGraphCondAssignDefault));
  launch_gate(gate, stream);
  cudaGraphNodeParams choice{};
  choice.type = cudaGraphNodeTypeConditional;
  choice.conditional.handle = gate.go;
  choice.conditional.type = cudaGraphCondTypeIf;
  choice.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  Captured behind = look_at_capture(stream);
  call("cudaGraphAddNode", cudaGraphAddNode(&node, graph, behind.last, behind.edges, behind.count, &choice));
  cudaGraphNode_t inside = nullptr;
  cudaGraph_t body = choice.conditional.phGraph_out[0];
  call("cudaGraphAddChildGraphNode", cudaGraphAddChildGraphNode(&inside, body, nullptr, 0, launches.get()));
  call("cudaStreamUpdateCaptureDependencies",
       cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies));
}

TaskView DeviceTasks::view_of(const Launch& launch, int turn, i32 iteration) const {
  const DeviceView view(
      *launch.task, aside_.get(),
      [this, turn](int v) { return memory_.vectors[std::size_t(plan_.physical_vector(turn, v))].rows; },
      [this, turn](int s) { return &memory_.control->scalars[plan_.scalar_map(turn)[std::size_t(s)]]; });
  return {view, {&memory_.control->control, memory_.pulse, ranks_, launch.command, iteration}};
}

DeviceTasks::Graph DeviceTasks::graph_of(const Launch& launch, int turn) const {
  cudaGraph_t graph = captured(memory_.stream, nullptr, [&] {
    capture(launch, turn, {.control = &memory_.control->control, .command = launch.command, .in_order = true}, memory_.stream);
  });
  cudaGraphExec_t made = nullptr;
  cudaError_t error = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  naming(*launch.task, [&] { call("cudaGraphInstantiate", error); });
  Graph owned(made);
  call("cudaGraphUpload", cudaGraphUpload(made, memory_.stream));
  return owned;
}

void DeviceTasks::launch(const Launch& launch, int turn, cudaStream_t stream) const {
  call("cudaGraphLaunch", cudaGraphLaunch(graphs_.at({launch.command, turn}).get(), stream));
}

}  // namespace sordino::cuda
