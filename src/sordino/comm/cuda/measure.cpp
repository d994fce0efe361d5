#include "sordino/comm/cuda/measure.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/devices.hpp"

namespace sordino::cuda {
namespace {

struct Measurement {
  const char* name;
  std::vector<CommFigure> (*run)(const CommPlan&);
  bool between_processes = false;  // can be made there, too
  bool by_any_way = false;         // over the plan's
};
constexpr Measurement measurements[] = {
    {"all-reduce", time_all_reduce_in_kernel, true},
    {"tail-to-head", time_tail_to_head, true},
    {"ping-pong", time_ping_pong, true},
    {"put", time_puts, true},
    {"all-gather", time_all_gathers, true},
    {"nccl-all-reduce", time_nccl_all_reduce},
    {"scopes", time_scopes, true},
    {"host", time_host_transfers},
    {"messages", time_messages, true, true},
    {"broadcast", time_broadcasts, true, true},
    {"exchange-paths", time_exchange_paths, true},
    {"events", time_events},
    {"overlap", time_overlap, true},
    {"collectors", time_collectors},
    {"loops", time_loops},
    {"device-tasks", time_device_tasks},
    {"litmus", count_torn_packets},
};

}  // namespace

std::vector<std::string> comm_measurements(bool between_processes, bool by_any_way) {
  std::vector<std::string> names;
  for (auto& m : measurements)
    if ((m.between_processes || !between_processes) && (m.by_any_way || !by_any_way)) names.push_back(m.name);
  return names;
}

std::vector<CommFigure> measure_comm(const std::string& name, const CommPlan& plan) {
  std::string known;
  for (auto& m : measurements) {
    if (plan.processes && !m.between_processes) continue;
    if (name == m.name && !m.by_any_way && plan.chooses_way())
      bad_argument("measurement '" + name + "' has its own ways between GPUs, and none can be chosen");
    if (name == m.name) return m.run(plan);
    known += (known.empty() ? "" : ", ") + std::string(m.name);
  }
  bad_argument("there is no measurement '" + name + "'" + (plan.processes ? " between processes" : "") + "; there are " +
               known);
}

double quantile(std::vector<double>& seconds, double part) {
  if (seconds.empty()) return 0;
  auto at = seconds.begin() + std::ptrdiff_t(std::min(double(seconds.size()) - 1, part * double(seconds.size())));
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at;
}

std::vector<double> slowest_of(const std::vector<std::vector<double>>& seconds) {
  std::vector<double> slowest;
  for (auto& of_rank : seconds) {
    slowest.resize(std::max(slowest.size(), of_rank.size()));
    for (std::size_t n = 0; n < of_rank.size(); n++) slowest[n] = std::max(slowest[n], of_rank[n]);
  }
  return slowest;
}

void add_samples(CommFigure& figure, std::vector<double> seconds) {
  figure.samples = std::max(figure.samples, i64(seconds.size()));
  figure.median = std::max(figure.median, quantile(seconds, 0.5));
  figure.p99 = std::max(figure.p99, quantile(seconds, 0.99));
}

bool add_if_supported(CommFigure& figure, const std::function<std::vector<double>()>& samples) {
  try {
    add_samples(figure, samples());
  } catch (const Error& e) {
    if (e.code() != Errc::unsupported) throw;
    figure.remark = e.what();
  }
  return figure.samples > 0;
}

void BatchTimer::run(TeamRank& rank, const std::function<void()>& issue, const std::function<void()>& begin) {
  cudaEvent_t first, last;
  call("cudaEventCreate", cudaEventCreate(&first));
  call("cudaEventCreate", cudaEventCreate(&last));
  for (int b = 0; b <= batches_; b++) {
    if (begin) begin();
    rank.wait();
    rank.barrier();
    call("cudaEventRecord", cudaEventRecord(first, rank.stream()));
    for (int i = 0; i < count_; i++) issue();
    call("cudaEventRecord", cudaEventRecord(last, rank.stream()));
    rank.wait();
    float ms = 0;
    call("cudaEventElapsedTime", cudaEventElapsedTime(&ms, first, last));
    if (b > 0) seconds_[std::size_t(rank.id())].push_back(ms * 1e-3 / count_);
  }
  for (cudaEvent_t e : {first, last}) call("cudaEventDestroy", cudaEventDestroy(e));
}

std::vector<double> BatchTimer::slowest() const { return slowest_of(seconds_); }

void BatchTimer::add_to(CommFigure& figure, const CommPlan& plan) const { add_samples(figure, agreed(plan, slowest())); }

CommFigure takes_two_devices(const char* what) {
  return {.what = what, .way = "-", .remark = "takes two devices that reach each other"};
}

TeamOptions team_options(const CommPlan& plan, int ranks) {
  TeamOptions o;
  o.ranks = ranks;
  o.devices = plan.devices;
  o.timeout = plan.timeout;
  return o;
}

Team team_for(const CommPlan& plan, TeamOptions options) {
  if (!plan.processes) return Team(options);
  options.devices = own_part(plan, options.ranks).devices;
  return Team(options, plan.processes->hall(int(options.devices.size()), false));
}

int ranks_of_pair(const CommPlan& plan) {
  auto ranks = possible_ranks(plan, 2);
  if (ranks.empty()) return 0;
  return plan.processes ? *std::min_element(ranks.begin(), ranks.end()) : 2;
}

bool is_of_pair(const TeamRank& rank) { return rank.id() == 0 || rank.id() == rank.size() - 1; }

void check_on_each(Team& team, const std::function<void(int rank)>& check) {
  team.run([&](TeamRank& rank) { check(rank.id()); });
}

std::vector<int> possible_ranks(const CommPlan& plan, int least) {
  DeviceReport report = device_report();
  if (!report.reason.empty()) throw Error(Errc::unsupported, "communication of GPUs cannot be measured: " + report.reason);
  int devices = plan.devices.empty() ? int(report.devices.size()) : int(plan.devices.size());
  devices = -int(agreed(plan, {-double(devices)})[0]);  // the fewest that a process sees
  int processes = plan.processes ? plan.processes->count() : 1;
  std::vector<int> ranks;
  for (int r : plan.ranks)
    if (r >= least && r <= devices && r % processes == 0) ranks.push_back(r);
  return ranks;
}

RankRange own_ranks(const CommPlan& plan, int ranks) {
  if (!plan.processes) return {0, ranks};
  int each = ranks / plan.processes->count(), first = plan.processes->index() * each;
  return {first, first + each};
}

CommPlan own_part(const CommPlan& plan, int ranks) {
  CommPlan part = plan;
  if (!plan.processes) return part;
  RankRange mine = own_ranks(plan, ranks);
  part.devices.clear();
  for (int r = mine.first; r < mine.end; r++) part.devices.push_back(plan.devices.empty() ? r : plan.devices[std::size_t(r)]);
  return part;
}

std::unique_ptr<CudaEngine> engine_for(const CommPlan& plan, Options o, int ranks, bool apart) {
  o.timeout = plan.timeout;
  o.devices = own_part(plan, ranks).devices;
  o.ranks = own_ranks(plan, ranks).size();
  if (int(o.devices.size()) > o.ranks) o.devices.resize(std::size_t(o.ranks));
  if (!plan.processes) return std::make_unique<CudaEngine>(o);
  auto hall = plan.processes->hall(o.ranks, apart);
  return std::make_unique<CudaEngine>(o, std::move(hall), plan.processes->transport(o.ranks));
}

std::string carried_by(const CommPlan& plan, const CudaEngine& engine, Staging staging) {
  int from = engine.first_rank(), to = (from + (plan.processes ? engine.local_ranks() : 1)) % engine.size();
  Carrier carrier = engine.carrier(from, to);
  bool placed = carrier == Carrier::mpi &&
                (staging == Staging::never || (staging == Staging::automatic && plan.processes->reaches_devices()));
  return std::string(name_of(carrier)) + (placed ? " from GPU to GPU" : "");
}

std::vector<double> agreed(const CommPlan& plan, std::vector<double> seconds) {
  if (plan.processes) plan.processes->most(seconds);
  return seconds;
}

void agree(const CommPlan& plan, CommFigure& figure) {
  auto slowest = agreed(plan, {figure.median, figure.p99, double(figure.samples)});
  figure.median = slowest[0];
  figure.p99 = slowest[1];
  figure.samples = i64(slowest[2]);
}

bool same_everywhere(const CommPlan& plan, u64 bits) {
  double low = double(u32(bits)), high = double(u32(bits >> 32));
  return agreed(plan, {low, high, -low, -high}) == std::vector<double>{low, high, -low, -high};
}

std::string layout(const CommPlan& plan, int ranks) {
  auto several = [](int n, const char* one, const char* more) { return std::to_string(n) + (n == 1 ? one : more); };
  int processes = plan.processes ? plan.processes->count() : 1;
  return several(processes, " process of ", " processes of ") + several(ranks / processes, " GPU", " GPUs");
}

}  // namespace sordino::cuda
