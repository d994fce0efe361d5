// What the measurements share. Not for users.
#pragma once
#include <functional>

#include "sordino/comm/cuda/measure.hpp"
#include "sordino/runtime/cuda/team.hpp"

namespace sordino::cuda {

std::vector<CommFigure> time_all_reduce_in_kernel(const CommPlan& plan);
std::vector<CommFigure> time_tail_to_head(const CommPlan& plan);
std::vector<CommFigure> time_ping_pong(const CommPlan& plan);
std::vector<CommFigure> count_torn_packets(const CommPlan& plan);
std::vector<CommFigure> time_puts(const CommPlan& plan);
std::vector<CommFigure> time_all_gathers(const CommPlan& plan);
std::vector<CommFigure> time_nccl_all_reduce(const CommPlan& plan);
std::vector<CommFigure> time_scopes(const CommPlan& plan);
std::vector<CommFigure> time_host_transfers(const CommPlan& plan);
std::vector<CommFigure> time_messages(const CommPlan& plan);
std::vector<CommFigure> time_broadcasts(const CommPlan& plan);
std::vector<CommFigure> time_exchange_paths(const CommPlan& plan);
std::vector<CommFigure> time_events(const CommPlan& plan);
std::vector<CommFigure> time_overlap(const CommPlan& plan);
std::vector<CommFigure> time_collectors(const CommPlan& plan);
std::vector<CommFigure> time_loops(const CommPlan& plan);
std::vector<CommFigure> time_device_tasks(const CommPlan& plan);
/// For cubes of (1 << bits)^3 points.
std::vector<CommFigure> time_loops_of(const CommPlan& plan, const std::vector<int>& bits);

/// Lines of time_collectors: four sums by recorded loops of the engine, in grids of up to so many blocks (0: of any size), with
/// `work` rows behind them and without.
void time_sums_of_engine(const CommPlan& plan, int ranks, i32 work, int most_blocks, const std::string& remark,
                         std::vector<CommFigure>& figures);
/// Of a vector of these two.
inline constexpr i64 exchanged_bytes[] = {8 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20};
// Lines of time_exchange_paths, for so many ranks of all processes: recorded loops of the engine,
void time_exchanges_by_engine(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures);
// and exchanges within each process, with MPI between them.
void time_exchanges_of_processes(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures);

/// Of seconds, whose order is changed.
double quantile(std::vector<double>& seconds, double part);
/// Of [rank][sample] seconds: those of the rank that is slowest in each.
std::vector<double> slowest_of(const std::vector<std::vector<double>>& seconds);
/// Median and p99 of the samples of the rank that is slowest in each.
void add_samples(CommFigure& figure, std::vector<double> seconds);
/// Adds samples(); false, and a remark that says why, if this machine cannot do what they take.
bool add_if_supported(CommFigure& figure, const std::function<std::vector<double>()>& samples);

/// How long an operation takes on the ranks' streams: `batches` times all ranks begin together, issue `count` of them one
/// behind the other, and wait; a sample is a batch's time by events over `count`. The first batch does not count.
class BatchTimer {
 public:
  BatchTimer(int ranks, int batches, int count) : batches_(batches), count_(count), seconds_(std::size_t(ranks)) {}
  int count() const { return count_; }
  int issued() const { return (batches_ + 1) * count_; }  // by a rank, in all
  /// By each rank. `begin` is called ahead of each batch, not timed.
  void run(TeamRank& rank, const std::function<void()>& issue, const std::function<void()>& begin = {});
  /// Of the slowest rank in each batch.
  std::vector<double> slowest() const;
  /// The slowest of the plan's processes.
  void add_to(CommFigure& figure, const CommPlan& plan) const;

 private:
  int batches_, count_;
  std::vector<std::vector<double>> seconds_;
};

/// A team on the first `ranks` of the plan's devices, or of all.
TeamOptions team_options(const CommPlan& plan, int ranks);
/// The same over the plan's processes, if there are several, each with its share of the ranks and devices.
Team team_for(const CommPlan& plan, TeamOptions options);
/// Of a team whose first and last rank are measured; 0: there is one device only. In one process 2, else the fewest of the
/// plan's, so that the two are in different processes.
int ranks_of_pair(const CommPlan& plan);
bool is_of_pair(const TeamRank& rank);
/// check(rank) on each, where its memory can be read: what it throws is thrown in all processes.
void check_on_each(Team& team, const std::function<void(int rank)>& check);
/// The plan's numbers of ranks for which there are devices, and at least `least`; the same number in each process.
std::vector<int> possible_ranks(const CommPlan& plan, int least);
/// Of so many ranks those of this process.
RankRange own_ranks(const CommPlan& plan, int ranks);
/// The plan with the devices of this process, in the order of its ranks. Without other processes: all of the plan.
CommPlan own_part(const CommPlan& plan, int ranks);
/// An engine of so many ranks, over the plan's processes if there are several; `apart`: as if each were on a host of its own,
/// so that couriers carry over MPI what goes between them.
std::unique_ptr<CudaEngine> engine_for(const CommPlan& plan, Options options, int ranks, bool apart = false);
/// Who carries what goes from this process's first rank to the next process, or, in one process, to the next rank; `staging` as
/// the engine was told.
std::string carried_by(const CommPlan& plan, const CudaEngine& engine, Staging staging);
/// Of the slowest process in each; the same numbers in all processes, which may decide by them.
std::vector<double> agreed(const CommPlan& plan, std::vector<double> seconds);
/// Median and p99 of the slowest process, and as many samples as any has.
void agree(const CommPlan& plan, CommFigure& figure);
/// Whether all processes have the same bits; the same answer in all.
bool same_everywhere(const CommPlan& plan, u64 bits);
/// As "2 processes of 2 GPUs".
std::string layout(const CommPlan& plan, int ranks);

/// The line of a measurement for which there is one device only.
CommFigure takes_two_devices(const char* what);

/// In -1..1, exactly the same on host and device.
SORDINO_HD inline double noise(u64 rank, u64 k, u64 epoch) {
  u64 z = (epoch * 64 + rank) * 64 + k + 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return double(i64((z ^ z >> 31) >> 11)) * 0x1p-52 - 1;
}
/// Of the bits of a sequence of results.
SORDINO_HD constexpr u64 hashed(u64 hash, u64 bits) { return (hash ^ bits) * 0x100000001b3u; }

}  // namespace sordino::cuda
