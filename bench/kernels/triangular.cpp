// Triangular solves on GPUs with the structure of a grid's Cholesky factor and invented values: times of one plan after the
// other, one line of JSON each.
//
//   bench_triangular 7 100 metis_100.i32 [width=256] [task=131072] [subtree=196608] [always=8] [columns=1] [ranks=1]
//                    [part=5632] [direction=forward|backward] [blocks=0] [repeats=15] [described=h100x2|h200x4]
//                    [most=32] [long=180224] [trace=0]
//   bench_triangular 7 100 metis_100.i32 algorithm=paper [layout=2x1] [width=128] [always=8] [blocks=0] [repeats=15]
//                    [described=h100x2|h200x4]
//
// Of direction, ranks and layout several may be given, with commas between: a line for each, of one structure.
//
// The second is paper 004's Algorithm 1, one column of b forward, on as many GPUs as the layout has ranks; its seconds are
// those from the launch of its kernel WAIT on, and kernel_seconds those from the begin of SOLVE on. Also without CUDA,
// predicted_seconds are those of python/sordino/machines/NAME.json, where described=NAME, of the second by Algorithm 2, and
// predicted_by_steps by the steps of Algorithm 1; repeats=0 only predicts.
// trace=1 adds what one traced solve says of its critical path (solve_trace.hpp).
// A pass takes up to `most` columns, and its tasks, where these are more than eight, up to `long` bytes.
// 7, 27 or 5 points; cells along a side (27 points have 3 unknowns each); a file of 32-bit numbers, the k-th cell of the order,
// or - for nested dissection along planes.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "grid_triangles.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/config.hpp"
#include "sordino/trsv/model_solve.hpp"
#include "sordino/trsv/paper_layout.hpp"
#include "sordino/trsv/paper_model.hpp"
#include "sordino/trsv/paper_steps.hpp"
#if SORDINO_WITH_CUDA
#include "solve_trace.hpp"
#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/cuda/paper_gpu_solve.hpp"
#endif

namespace {
using namespace sordino;
using namespace bench;
using namespace sordino::trsv;

/// The numbers of a description that triangular solves go by.
Machine described(const std::string& name) {
  const bool h200 = name == "h200x4";
  if (!h200 && name != "h100x2") bad_argument("described is h100x2 or h200x4, and this is " + name);
  Machine m;
  m.memory_bandwidth = h200 ? 4.261e12 : 2.97e12;
  m.link_bandwidth = 370e9;
  m.put_overhead_s = 0;
  m.link_latency_s = h200 ? 6.2e-6 : 8.8e-6;
  m.triangular.bandwidth = h200 ? 4.2e12 : 2.85e12;
  m.triangular.worker_bandwidth = 65e9;
  m.triangular.message_s = 2.05e-6;
  return m;
}

/// What stands between commas, one after the other.
std::vector<std::string> words_in(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) all.push_back(word);
  return all;
}

/// PxQ
paper::Grid layout_in(const std::string& text) {
  paper::Grid grid;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%dx%d%c", &grid.rows, &grid.columns, &rest) != 2)
    bad_argument("a layout is written as 2x1, and this is " + text);
  return grid;
}

/// What a line says of the structure: the same for every algorithm.
struct Sizes {
  Grid grid;
  i64 n, entries, values;
  int supernodes, blocks;
  double structure_seconds;
};
void print_sizes(const Sizes& s) {
  std::printf(
      "{\"points\": %d, \"side\": %d, \"n\": %lld, \"entries\": %lld, \"stored_bytes\": %lld, \"supernodes\": %d, "
      "\"blocks\": %d, \"structure_seconds\": %.3g",
      s.grid.points, s.grid.side, static_cast<long long>(s.n), static_cast<long long>(s.entries),
      static_cast<long long>(8 * s.values), s.supernodes, s.blocks, s.structure_seconds);
}

#if SORDINO_WITH_CUDA
std::vector<double> times(const Blocks& blocks, const Plan& plan, const Words& words) {
  const i64 columns = words.number("columns", 1);
  const i64 widest = words.number("most", 32);
  int most = 1;
  while (2 * most <= widest && (2 * most <= columns || (most >= 8 && most < columns))) most *= 2;
  const bool forward = plan.direction == Direction::forward;
  GpuSolve<double> gpu(blocks, forward ? &plan : nullptr, forward ? nullptr : &plan,
                       {.most_columns = most,
                        .long_task_bytes = words.number("long", GpuOptions().long_task_bytes),
                        .blocks = int(words.number("blocks", 0)),
                        .timeout = 2});
  const std::vector<double> b(std::size_t(blocks.n * columns), 1.0);
  std::vector<double> seconds = gpu.time(plan.direction, b.data(), columns, int(words.number("repeats", 15)) + 2);
  seconds.erase(seconds.begin(), seconds.begin() + 2);
  if (words.number("trace", 0)) SolveTrace(blocks, plan, gpu.trace(plan.direction, b.data())).print();
  return seconds;
}

std::vector<paper::GpuSeconds> times(const paper::Pattern& pattern, const paper::Layout& layout, const Words& words) {
  paper::GpuSolve<double> gpu(pattern, layout, {.blocks = int(words.number("blocks", 0)), .timeout = 2});
  const std::vector<double> b(std::size_t(pattern.n()), 1.0);
  auto seconds = gpu.time(b.data(), int(words.number("repeats", 15)) + 2);
  seconds.erase(seconds.begin(), seconds.begin() + 2);
  return seconds;
}
#endif

/// Entries of the triangle, with the zeros of its supernodes.
i64 entries_of(const Supernodes& nodes) {
  i64 entries = 0;
  for (i32 s = 0; s < nodes.count(); s++) {
    const i64 w = nodes.width(s), below = nodes.row_begin[std::size_t(s) + 1] - nodes.row_begin[std::size_t(s)];
    entries += w * (w + 1) / 2 + w * below;
  }
  return entries;
}

void run_paper(const Grid& grid, const Supernodes& nodes, const Words& words, double begin) {
  const paper::Pattern pattern = paper::pattern_of(nodes, i32(words.number("width", 128)));
  const double found = seconds_now() - begin;
  const Machine machine = described(words.word("described", "h100x2"));
  const paper::Cluster cluster = paper::cluster_of(machine);
  for (const std::string& shape : words_in(words.word("layout", "1x1"))) {
    const paper::Layout layout = lay_out(pattern, layout_in(shape));
    const paper::Traffic traffic = traffic_of(pattern, layout, 8);
    print_sizes({grid, pattern.n(), entries_of(nodes), pattern.values(), nodes.count(), pattern.count(), found});
    std::printf(
        ", \"broadcasts\": %lld, \"reductions\": %lld, \"message_bytes\": %lld, \"predicted_seconds\": %.6g, "
        "\"predicted_by_steps\": %.6g",
        static_cast<long long>(traffic.broadcasts), static_cast<long long>(traffic.reductions),
        static_cast<long long>(traffic.broadcast_bytes + traffic.reduction_bytes),
        predict(pattern, layout.grid, cluster).seconds, predict_steps(pattern, layout, machine, sizeof(double)).seconds);
    Words said = words;
    said.values["layout"] = shape;
    print_words(said);
#if SORDINO_WITH_CUDA
    if (words.number("repeats", 15) > 0) {
      std::vector<double> whole, kernel;
      for (const paper::GpuSeconds& s : times(pattern, layout, words)) whole.push_back(s.whole), kernel.push_back(s.kernel);
      const double seconds = median_of(whole);
      std::printf(", \"seconds\": %.6g, \"kernel_seconds\": %.6g, \"bytes_per_second\": %.4g", seconds, median_of(kernel),
                  8 * double(pattern.values()) / seconds);
    }
#endif
    std::printf("}\n");
  }
}

void run_plan(const Grid& grid, const Supernodes& nodes, const Words& words, double begin) {
  const Blocks blocks = cut(nodes, i32(words.number("width", 256)), words.number("part", most_of_strip));
  const double found = seconds_now() - begin;
  const Machine machine = described(words.word("described", "h100x2"));
  for (const std::string& way : words_in(words.word("direction", "forward")))
    for (const std::string& ranks : words_in(words.word("ranks", "1"))) {
      if (way != "forward" && way != "backward") bad_argument("a direction is forward or backward, and this is " + way);
      PlanOptions options;
      options.ranks = std::atoi(ranks.c_str());
      options.task_bytes = words.number("task", options.task_bytes);
      options.subtree_bytes = words.number("subtree", options.subtree_bytes);
      const auto direction = way == "backward" ? Direction::backward : Direction::forward;
      const double cut_at = seconds_now();
      const Plan plan = make_plan(blocks, direction, 8, options);
      const double planned = seconds_now() - cut_at;
      check_plan(blocks, plan);
      const ModelReport model =
          model_solve(blocks, plan, 8, model_options(machine, direction, words.number("columns", 1), 0, 8));
      print_sizes({grid, blocks.n, blocks.entries, blocks.values, nodes.count(), blocks.count(), found});
      std::printf(", \"tasks\": %d, \"slots\": %lld, \"predicted_seconds\": %.6g, \"plan_seconds\": %.3g", plan.count(),
                  static_cast<long long>(blocks.slots), model.seconds, planned);
      Words said = words;
      said.values["direction"] = way, said.values["ranks"] = ranks;
      print_words(said);
#if SORDINO_WITH_CUDA
      if (words.number("repeats", 15) > 0) {
        const double seconds = median_of(times(blocks, plan, words));
        std::printf(", \"seconds\": %.6g, \"bytes_per_second\": %.4g", seconds, 8 * double(blocks.values) / seconds);
      }
#endif
      std::printf("}\n");
      std::fflush(stdout);
    }
}

int run(int argc, char** argv) {
  const int points = std::atoi(argv[1]), side = std::atoi(argv[2]);
  const Grid grid{points, side, points == 27 ? 3 : 1};
  const Words words(argc, argv, 4);
  const std::string path = argv[3];
  const std::vector<i32> order = path == "-" ? nested_order(grid) : order_in(argv[3], grid.cells());
  const double begin = seconds_now();
  const Triangle t = lower_triangle(grid, order);
  const i64 n = i64(t.begin.size()) - 1;
  const Supernodes nodes = find_supernodes({n, t.begin.data(), t.rows.data()}, {.always = i32(words.number("always", 8))});
  const std::string algorithm = words.word("algorithm", "plan");
  if (algorithm != "plan" && algorithm != "paper") bad_argument("an algorithm is plan or paper, and this is " + algorithm);
  (algorithm == "paper" ? run_paper : run_plan)(grid, nodes, words, begin);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s 5|7|27 SIDE ORDER|- [name=value]...\n", argv[0]);
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
