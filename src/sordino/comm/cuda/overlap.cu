// How much of a communication is hidden by work, through the engine itself: programs of overlap_programs.hpp in replayed loops.
// Each is timed four times: with the messages and no work, with neither, with the work, and with both. Of what the messages add
// where there is no work, the share that they do not add where there is work is hidden:
//
//   hidden = 1 - (both - work) / (messages - neither)
//
// Where blocks stand aside to send and to wait (runtime/cuda/dealing.hpp), the loop with both is also timed with other numbers
// and shares of the work for them. And where a block of the next command collects sums (runtime/cuda/collecting.hpp), the loop
// with both is also timed with sums that the last block of their own command collects.
//
// The benchmark of the paper on HACApK (Fig. 18) books all that a loop with messages alone takes as communication, the launches
// of its commands too: 1 - (both - work) / messages, which is more. The work is as many rows as take twice as long as that
// loop. Rows that are mostly loads and stores share the memory with what is sent and received, which nothing can hide; rows of
// arithmetic do not.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/overlap_programs.hpp"
#include "sordino/runtime/cuda/enable.cuh"

namespace sordino::cuda {
namespace {

using overlap::Shape, overlap::Stopwatch;
using Program = std::function<void(Rank&, const Shape&, Stopwatch&)>;

constexpr i32 most_work = 1 << 25;  // rows: 256 MiB a vector
constexpr i32 rows_of_sums = 65'536;
constexpr i64 iterations = 400;
constexpr i32 much_polish = 256;  // the arithmetic of such rows takes three times as long as their memory

struct Loop {
  CommFigure figure;
  double exposed = 0;  // seconds of an iteration that the rank which waited longest did
  double median() const { return figure.median; }
};

struct Four {
  i32 rows = 0;  // of work
  Loop messages, neither, work, both;
};

/// How a loop is run, beside the default.
struct Way {
  i32 polish = 0;      // of each row of a halo's work
  bool apart = false;  // what goes between processes goes by couriers, over MPI
  const char* what = "overlap";
  int most_blocks = 0;  // > 0: no grid is larger
};

class Bench {
 public:
  Bench(const CommPlan& plan, int ranks, i64 bytes, std::vector<CommFigure>& figures, Way way = {})
      : plan_(plan), ranks_(ranks), bytes_(bytes), way_(way), figures_(figures) {}

  /// `words` as the program understands them; `rows` of work, or, if that is 0, as many as take twice as long as the messages.
  Four measure(const std::string& name, const Program& program, i32 words, i32 rows = 0) {
    Four f;
    f.messages = run(ranks_, program, {true, words, 0});
    f.neither = run(ranks_, program, {false, words, 0});
    f.rows = rows > 0 ? rows : rows_for(program, words, 2 * f.messages.median(), f.neither.median());
    f.work = run(ranks_, program, {false, words, f.rows});
    f.both = run(ranks_, program, {true, words, f.rows});
    add(name + ", no work", f.messages);
    add(name + ", neither messages nor work", f.neither);
    add(name + ", work alone", f.work, std::to_string(f.rows) + " rows");
    add(name + ", behind work", f.both, shares(f, f.both));
    return f;
  }

  /// The same work, where no blocks stand aside to send or to wait.
  void measure_all_alike(const std::string& name, const Program& program, i32 words, const Four& f) {
    Options alike;
    alike.dealing.aside = 0;
    Loop both = run(ranks_, program, {true, words, f.rows}, 10, alike);
    add(name + ", behind work, all blocks alike", both, shares(f, both));
  }

  /// The same work, where a command's last block collects its sums, and not a block of the next one.
  void measure_kept(const std::string& name, const Program& program, i32 words, const Four& f) {
    Options kept;
    kept.hand_on = false;
    Loop both = run(ranks_, program, {true, words, f.rows}, 10, kept);
    add(name + ", behind work, the command that starts them collects", both, shares(f, both));
  }

  /// Sums that a GPU needs no other for: what `f` takes longer is what the other GPUs add, behind work and without. No share
  /// of the loop is said: most of that is the GPU's own part, which is in neither.
  void measure_alone(const std::string& name, const Program& program, i32 words, const Four& f) {
    Loop sums = run(1, program, {true, words, 0}), work = run(1, program, {true, words, f.rows});
    char text[120];
    std::snprintf(text, sizeof text, "the other GPUs add %.2f us to this, and %.2f us to the loop without work",
                  (f.both.median() - work.median()) * 1e6, (f.messages.median() - sums.median()) * 1e6);
    add(name + ", of one GPU alone, no work", sums);
    add(name + ", of one GPU alone, behind work", work, text);
  }

 private:
  static std::string shares(const Four& f, const Loop& both) {
    double exposed = both.median() - f.work.median();
    char text[160];
    std::snprintf(text, sizeof text, "%.1f %% hidden (%.1f %% of all that the loop without work takes); waited %.2f us",
                  100 * (1 - exposed / (f.messages.median() - f.neither.median())), 100 * (1 - exposed / f.messages.median()),
                  both.exposed * 1e6);
    return text;
  }

  Loop run(int ranks, const Program& program, Shape shape, int most_replays = 10, Options options = {}) const {
    shape.polish = way_.polish;
    options.most_blocks = way_.most_blocks;
    auto gpus = engine_for(plan_, options, ranks, way_.apart);
    const i64 epochs = plan_.epochs > 0 ? plan_.epochs : iterations * most_replays;
    int once = int(std::min<i64>(epochs, iterations));
    Stopwatch watch(ranks, int(std::clamp<i64>(epochs / once, 1, most_replays)), once);
    gpus->run([&](Rank& s) { program(s, shape, watch); });
    Loop loop;
    loop.figure = {.what = way_.what, .ranks = ranks_, .bytes = bytes_};  // beside what it is compared with
    add_samples(loop.figure, agreed(plan_, slowest_of(watch.seconds)));
    loop.exposed = agreed(plan_, {*std::max_element(watch.exposed.begin(), watch.exposed.end())})[0];
    return loop;
  }

  /// So many rows that the loop takes about `wanted` seconds, or as few as there must be; `none`: without work.
  i32 rows_for(const Program& program, i32 words, double wanted, double none) const {
    double rows = std::max(4.0 * words, 65'536.0);
    for (int n = 0; n < 6; n++) {
      double seconds = run(ranks_, program, {false, words, i32(rows)}, 2).median();
      if (seconds >= 0.95 * wanted || rows >= most_work) break;
      double row = (seconds - none) / rows, more = row > 0 ? (wanted - seconds) / row : 4 * rows;
      rows = std::min<double>(most_work, rows + std::min(more, 8 * rows));
    }
    return i32(rows) / 1024 * 1024;
  }

  void add(const std::string& way, const Loop& loop, const std::string& remark = {}) {
    figures_.push_back(loop.figure);
    figures_.back().way = way;
    figures_.back().remark = remark;
  }

  const CommPlan& plan_;
  int ranks_;
  i64 bytes_;
  Way way_;
  std::vector<CommFigure>& figures_;
};

Program gathering(bool ahead) {
  return [ahead](Rank& s, const Shape& shape, Stopwatch& watch) { overlap::gather(s, shape, ahead, watch); };
}
constexpr const char* sent_ahead = "all-gather, sent ahead in the command of the work";

/// Between processes: Fig. 18 alone.
void measure_between_processes(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures) {
  for (bool apart : {false, true})
    for (i64 bytes : {i64(1) << 20, i64(8) << 20}) {
      if (apart && bytes > 1 << 20) continue;  // no work is twice as long
      Bench pieces(plan, ranks, bytes, figures, {.apart = apart});
      std::string way = apart ? ", over MPI between " : ", straight between ";
      pieces.measure(sent_ahead + way + layout(plan, ranks), gathering(true), i32(bytes / 8 / ranks));
    }
}

}  // namespace

void time_sums_of_engine(const CommPlan& plan, int ranks, i32 work, int most_blocks, const std::string& remark,
                         std::vector<CommFigure>& figures) {
  enable(overlap::Kernels{});
  Bench sums(plan, ranks, 4 * 8, figures, {.what = "collectors", .most_blocks = most_blocks});
  sums.measure(std::to_string(rows_of_sums) + " rows, the engine's loop" + remark, overlap::reduction, rows_of_sums, work);
}

std::vector<CommFigure> time_overlap(const CommPlan& plan) {
  enable(overlap::Kernels{});
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 2)) {
    if (plan.processes) {
      measure_between_processes(plan, ranks, figures);
      continue;
    }
    for (i64 bytes : {i64(64) << 10, i64(256) << 10, i64(1) << 20, i64(2) << 20}) {
      Bench lines(plan, ranks, bytes, figures);
      Four found = lines.measure("halo", overlap::halo, i32(bytes / 8));
      lines.measure_all_alike("halo", overlap::halo, i32(bytes / 8), found);
      Bench ahead(plan, ranks, bytes, figures);
      ahead.measure("halo, sent ahead in the command that waits", overlap::halo_in_one, i32(bytes / 8));
      Bench arithmetic(plan, ranks, bytes, figures, {.polish = much_polish});
      arithmetic.measure("halo, rows of arithmetic", overlap::halo, i32(bytes / 8));
    }
    Bench sums(plan, ranks, 4 * 8, figures);
    Four found = sums.measure("four sums", overlap::reduction, rows_of_sums);
    sums.measure_kept("four sums", overlap::reduction, rows_of_sums, found);
    sums.measure_alone("four sums", overlap::reduction, rows_of_sums, found);
    for (i64 bytes : {i64(1) << 20, i64(8) << 20}) {
      Bench pieces(plan, ranks, bytes, figures);
      pieces.measure("all-gather, sent by a command of its own", gathering(false), i32(bytes / 8 / ranks));
      Four found = pieces.measure(sent_ahead, gathering(true), i32(bytes / 8 / ranks));
      pieces.measure_all_alike(sent_ahead, gathering(true), i32(bytes / 8 / ranks), found);
    }
  }
  if (figures.empty()) figures.push_back(takes_two_devices("overlap"));
  return figures;
}

}  // namespace sordino::cuda
