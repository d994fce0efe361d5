// The exchanges of the paper on HACApK as programs of the engine make them: recorded loops whose messages are pieces of a
// vector that everybody gathers, or sums of vectors (overlap_programs.hpp, without other work). Kernels store straight into the
// others' memory, that of other processes mapped by CUDA IPC; or into pinned host memory, from where couriers carry it on, over
// MPI between processes (runtime/cuda/courier.hpp). An iteration also has the kernels that write what is sent and read what
// has come.
#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/runtime/cuda/enable.cuh"

namespace sordino::cuda {
namespace {

using overlap::Shape, overlap::Stopwatch;

struct Way {
  bool by_courier;
  Staging staging = Staging::always;
};

class EnginePaths {
 public:
  EnginePaths(const CommPlan& plan, int ranks, const Way& way, std::vector<CommFigure>& figures)
      : plan_(plan), ranks_(ranks), figures_(figures) {
    Options o;
    if (way.by_courier && !plan.processes) o.links = Links::host;
    o.staging = way.staging;
    engine_ = engine_for(plan, o, ranks, way.by_courier);
    way_ = std::string("the engine, ") + (plan.processes ? "between processes " : "") + "by " +
           carried_by(plan, *engine_, way.staging);
  }

  void measure(i64 bytes) {
    const i32 words = i32(bytes / 8), piece = words / ranks_;
    add("pieces to all", i64(piece) * ranks_,
        [&](Rank& s, Stopwatch& watch) { overlap::gather(s, {.words = piece}, false, watch); });
    add("sum to all", words, [&](Rank& s, Stopwatch& watch) { overlap::vector_sum(s, {.words = words}, watch); });
  }

 private:
  template <class Program>
  void add(const std::string& what, i64 words, const Program& program) {
    CommFigure f{.what = "exchange-paths", .way = way_, .ranks = ranks_, .bytes = words * 8};
    f.remark = what + ", and the kernels that write and read it; " + layout(plan_, ranks_);
    const int replays = plan_.epochs > 0 ? int(std::min<i64>(plan_.epochs, 5)) : 5;
    Stopwatch watch(ranks_, replays, int(std::clamp<i64>((16 << 20) / f.bytes, 2, 100)));
    engine_->run([&](Rank& s) { program(s, watch); });
    add_samples(f, agreed(plan_, slowest_of(watch.seconds)));
    f.bandwidth = double(f.bytes) / f.median;
    figures_.push_back(f);
  }

  const CommPlan& plan_;
  int ranks_;
  std::vector<CommFigure>& figures_;
  std::unique_ptr<CudaEngine> engine_;
  std::string way_;
};

}  // namespace

void time_exchanges_by_engine(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures) {
  enable(overlap::Kernels{});
  std::vector<Way> ways{{false}, {true}};
  if (plan.processes && plan.processes->reaches_devices()) ways.push_back({true, Staging::automatic});
  for (const Way& way : ways) {
    EnginePaths paths(plan, ranks, way, figures);
    for (i64 bytes : exchanged_bytes) paths.measure(bytes);
  }
}

}  // namespace sordino::cuda
