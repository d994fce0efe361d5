// Who adds up the sums of a kernel's blocks, with nothing to hide that, and behind work. Four sums over some rows, started in
// the tail of one kernel and finished in the head of its next launch; behind work, a kernel that needs no sums lies between:
// the loop of overlap::reduction, by hand (collectors.cuh), so that any block can collect, and blocks
// can say when they come to what. Of both loops the same is timed without sums.
//
// The chain's stamps are those of one more run, on the first rank: medians over iterations, counted from when the first block
// of the kernel with the sums is past its wait for the kernel before. They cost stores, so that its iteration, the last line
// of each chain, takes a little longer than the one that was timed.
//
// The grid of the work takes all places of a device, as the engine's does. So some of its blocks have none before the block
// that collects has ended. Where room is left, for its grid has the same rows in fewer blocks, all of them may wait in their
// places; the engine's own loop is timed both ways, too.
#include "sordino/comm/cuda/collectors.cuh"

#include <algorithm>
#include <cstdio>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/replayed.hpp"

namespace sordino::cuda {
namespace {

using namespace collectors;

constexpr i32 few_rows = 65'536, many_rows = 262'144;  // of sums
constexpr i32 rows_of_work = 2'211'840;                // on an H200 twice as long as the loop of few rows without work
constexpr int places_of_few_rows = 2;                  // that the blocks of few rows take on a multiprocessor of an H200
constexpr int most_iterations = 200, batches = 10;
constexpr const char* room_left = ", room left";
constexpr int unsteady = 10;  // iterations until ranks that began one after the other are in step

struct Kernels {
  void (*average)(DeviceTeam, Loop, i32, bool);
  void (*work)(DeviceTeam, Loop, Symmetric<double>, i32, i32);

  template <Who who>
  static Kernels of(bool stamped) {
    return stamped ? Kernels{collectors::average<who, true>, collectors::work<who, true>}
                   : Kernels{collectors::average<who, false>, collectors::work<who, false>};
  }
};

struct Way {
  const char* name;
  Who who;
  Kernels (*kernels)(bool stamped);
  bool one_kernel = false;  // computes all rows, as those of the engine's loop without sums
};
constexpr Way ways[] = {
    {"no sums", Who::nobody, Kernels::of<Who::nobody>},
    {"no sums, one kernel for all rows", Who::nobody, Kernels::of<Who::nobody>, true},
    {"the last block collects", Who::last_block, Kernels::of<Who::last_block>},
    {"every block that needs them collects", Who::readers, Kernels::of<Who::readers>},
    {"a block of the next kernel collects", Who::aside, Kernels::of<Who::aside>},
};

/// A line of a chain: when the first, or the last, block came to an event.
struct Point {
  const char* name;
  int kernel;  // 0: average, 1: work
  Event event;
  bool last;
  int later = 0;  // iterations
};

std::vector<Point> chain_of(Who who, bool works) {
  std::vector<Point> chain = {{"its first block begins", 0, begun, false},
                              {"its last block begins", 0, begun, true},
                              {"its last block is past the wait", 0, past_wait, true},
                              {"its last block has the sums", 0, has_sums, true},
                              {"its rows end", 0, rows_end, true}};
  auto collected = [&](int kernel, int later) {
    chain.push_back({"the block that collects has seen all", kernel, seen, true, later});
    chain.push_back({"the sums are sent", kernel, sent, true, later});
  };
  if (who != Who::nobody) chain.push_back({"its last block has handed in", 0, handed_in, true});
  if (who == Who::last_block) collected(0, 0);
  chain.push_back({"its last block ends", 0, ended, true});
  if (works) {
    chain.push_back({"the first block of the work begins", 1, begun, false});
    chain.push_back({"the last block of the work begins", 1, begun, true});
    chain.push_back({"the first block of the work is past the wait", 1, past_wait, false});
    chain.push_back({"the last block of the work is past the wait", 1, past_wait, true});
  }
  if (who == Who::aside) collected(works ? 1 : 0, works ? 0 : 1);
  if (works) chain.push_back({"the rows of the work end", 1, rows_end, true});
  chain.push_back({"the next one's first block is past the wait", 0, past_wait, false, 1});
  return chain;
}

class Bench {
 public:
  Bench(const CommPlan& plan, int ranks)
      : iterations_(int(std::clamp<i64>(plan.epochs > 0 ? plan.epochs : most_iterations, 2 * unsteady, most_iterations))),
        team_(options(plan, ranks)) {
    loop_.e = team_.array<double>(many_rows);
    loop_.w = team_.array<double>(rows_of_work);
    loop_.sums = team_.slots("collected sums", values, most_blocks);
    loop_.parts = team_.array<Packet>(words_of_parts(ranks));
    loop_.stamps = team_.array<u64>(words_of_stamps);
  }

  std::vector<CommFigure> run() {
    compare(few_rows, at_once);
    compare(few_rows, at_once - places_of_few_rows);
    compare(many_rows, at_once);
    return figures_;
  }

  static int multiprocessors_of(int device) {
    int count = 0;
    call("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
  }

 private:
  static constexpr i64 words_of_stamps = i64(most_iterations) * 2 * events * most_blocks;
  static i64 words_of_parts(int ranks) { return i64(2) * values * ranks * most_blocks; }
  static TeamOptions options(const CommPlan& plan, int ranks) {
    TeamOptions o = team_options(plan, ranks);
    o.window = std::size_t(8 * (many_rows + rows_of_work + words_of_stamps + 2 * words_of_parts(ranks))) + (2 << 20);
    return o;
  }

  /// `of_work`: blocks of the work on a multiprocessor.
  void compare(i32 rows, int of_work) {
    loop_.rows = rows;
    of_work_ = of_work;
    double none[2] = {}, today = 0;  // seconds without sums, without and with work; what they add today, without
    for (const Way& way : ways) {
      double adds = 0;
      for (bool works : {false, true}) {
        std::vector<double> seconds = time(way, works, false);
        double median = quantile(seconds, 0.5), before = adds;
        if (way.who == Who::nobody && !way.one_kernel) none[works] = median;
        adds = median - none[works];
        if (way.who == Who::last_block && !works) today = adds;
        std::string remark = std::to_string(blocks_[0]) + " blocks";
        if (works) remark += ", " + std::to_string(blocks_[1]) + " of work";
        if (works && way.who != Who::nobody) remark += "; " + shares(adds, before, today);
        add(name_of(way, works), seconds, remark);
      }
    }
    if (rows != few_rows) return;
    for (const Way& way : ways)
      if (!way.one_kernel && way.who != Who::readers)
        for (bool works : {false, true}) profile(way, works);
  }

  static std::string shares(double behind, double alone, double today) {
    char text[120];
    std::snprintf(text, sizeof text, "adds %.2f us, %.2f without work; %.1f %% of the last block's %.2f are hidden",
                  behind * 1e6, alone * 1e6, 100 * (1 - behind / today), today * 1e6);
    return text;
  }

  std::string name_of(const Way& way, bool works) const {
    return std::to_string(loop_.rows) + " rows, " + way.name + (works ? ", behind work" : ", no work") +
           (of_work_ < at_once ? room_left : "");
  }

  /// As many blocks as there are chunks, or as fit on every rank's device, or as are wanted on each of its multiprocessors.
  template <class... P>
  int blocks_for(i32 rows, void (*kernel)(P...), int wanted) const {
    int blocks = std::min((rows + block_threads - 1) / block_threads, most_blocks);
    for (int r = 0; r < team_.size(); r++) {
      int resident = 0;
      call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, block_threads, 0));
      blocks = std::min(blocks, std::min(resident, wanted) * multiprocessors_of(team_.device(r)));
    }
    return blocks;
  }

  /// Seconds of an iteration in each replay. What came out is checked.
  std::vector<double> time(const Way& way, bool works, bool stamped) {
    const Kernels k = way.kernels(stamped);
    blocks_[0] = way.one_kernel ? blocks_for(loop_.rows, k.work, at_once) : blocks_for(loop_.rows, k.average, at_once);
    blocks_[1] = blocks_for(rows_of_work, k.work, of_work_);
    loop_.work = works ? rows_of_work : 0;
    loop_.blocks = blocks_[0];
    const std::vector<double> zeros(std::size_t(rows_of_work), 0.0);
    for (int r = 0; r < team_.size(); r++) {
      team_.write(r, loop_.e, zeros.data(), loop_.rows);
      team_.write(r, loop_.w, zeros.data(), rows_of_work);
    }
    BatchTimer timer(team_.size(), batches, 1);
    team_.run([&](TeamRank& rank) {
      load(rank, k.average);
      load(rank, k.work);
      rank.load(count_on);
      if (way.who != Who::nobody) {
        rank.launch({.blocks = blocks_[0]}, k.average, rank.team(), loop_, 0, false);
        rank.launch({.threads = 1}, count_on, rank.team(), loop_, 1);
      }
      Replayed graph(rank.stream(), [&] { issue(rank, way, k); });
      timer.run(rank, [&] { graph.launch(); });
    });
    const double wanted = double(iterations_) * timer.issued();
    require(loop_.e, loop_.rows, wanted, name_of(way, works));
    require(loop_.w, rows_of_work, works ? wanted : 0, name_of(way, works));
    std::vector<double> seconds = timer.slowest();
    for (double& s : seconds) s /= iterations_;
    return seconds;
  }

  /// With all of a multiprocessor's shared memory that it may have: else its blocks could be fewer than occupancy says.
  template <class... P>
  static void load(TeamRank& rank, void (*kernel)(P...)) {
    rank.load(kernel);
    call("cudaFuncSetAttribute",
         cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributePreferredSharedMemoryCarveout,
                              cudaSharedmemCarveoutMaxShared));
  }

  void issue(TeamRank& rank, const Way& way, const Kernels& k) const {
    Grid grids[2] = {{.blocks = blocks_[0]}, {.blocks = blocks_[1]}};
    const DeviceTeam& t = rank.team();
    for (int n = 0; n < iterations_; n++) {
      if (loop_.work > 0) rank.launch(grids[1], k.work, t, loop_, loop_.w, loop_.work, n);
      grids[0].chained = n > 0 || loop_.work > 0;
      if (way.one_kernel)
        rank.launch(grids[0], k.work, t, loop_, loop_.e, loop_.rows, n);
      else
        rank.launch(grids[0], k.average, t, loop_, n, true);
      grids[1].chained = true;
    }
    rank.launch({.threads = 1}, count_on, t, loop_, way.who == Who::nobody ? 0 : iterations_);
  }

  void require(const Symmetric<double>& array, i32 rows, double wanted, const std::string& way) {
    std::vector<double> found(std::size_t(rows), 0.0);
    for (int r = 0; r < team_.size(); r++) {
      team_.read(r, array, found.data(), rows);
      for (i32 i = 0; i < rows; i++)
        if (double v = found[std::size_t(i)]; v != wanted)
          throw Error(Errc::device, way + ": row " + std::to_string(i) + " of rank " + std::to_string(r) + " is " +
                                        std::to_string(v) + ", not " + std::to_string(wanted));
    }
  }

  void profile(const Way& way, bool works) {
    time(way, works, true);
    std::vector<u64> stamps(std::size_t(words_of_stamps), 0);
    team_.read(team_.first_rank(), loop_.stamps, stamps.data(), words_of_stamps);
    auto when = [&](const Point& p, int iteration) {
      i64 at = ((i64(iteration) + p.later) * 2 + p.kernel) * events + p.event;
      u64 found = 0;
      for (int b = 0; b < blocks_[p.kernel]; b++)
        if (u64 s = stamps[std::size_t(at * most_blocks + b)]; s != 0 && (found == 0 || (p.last ? s > found : s < found)))
          found = s;
      return found;
    };
    for (const Point& p : chain_of(way.who, works)) {
      std::vector<double> seconds;
      for (int n = unsteady; n + 1 < iterations_; n++)
        seconds.push_back(double(i64(when(p, n) - when({"", 0, past_wait, false}, n))) * 1e-9);
      add(name_of(way, works) + ": " + p.name, seconds, "since its first block was past the wait");
    }
  }

  void add(const std::string& way, std::vector<double>& seconds, const std::string& remark) {
    CommFigure f{.what = "collectors", .way = way, .ranks = team_.size(), .bytes = 8 * values, .remark = remark};
    f.samples = i64(seconds.size());
    f.median = quantile(seconds, 0.5);  // what lies before its zero is negative
    f.p99 = quantile(seconds, 0.99);
    figures_.push_back(f);
  }

  int iterations_, of_work_ = at_once, blocks_[2] = {};
  Team team_;
  Loop loop_;
  std::vector<CommFigure> figures_;
};

}  // namespace

std::vector<CommFigure> time_collectors(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 1)) {
    const int multiprocessors = Bench::multiprocessors_of(plan.devices.empty() ? 0 : plan.devices[0]);
    time_sums_of_engine(plan, ranks, rows_of_work, 0, "", figures);
    time_sums_of_engine(plan, ranks, rows_of_work, (at_once - places_of_few_rows) * multiprocessors, room_left, figures);
    for (auto& f : Bench(plan, ranks).run()) figures.push_back(f);
  }
  return figures;
}

}  // namespace sordino::cuda
