#include "sordino/comm/cuda/measure.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/runtime/cuda/devices.hpp"

namespace sordino::cuda {
namespace {

struct Measurement {
  const char* name;
  std::vector<CommFigure> (*run)(const CommPlan&);
};
constexpr Measurement measurements[] = {
    {"all-reduce", time_all_reduce_in_kernel},
    {"tail-to-head", time_tail_to_head},
    {"ping-pong", time_ping_pong},
    {"litmus", count_torn_packets},
};

}  // namespace

std::vector<std::string> comm_measurements() {
  std::vector<std::string> names;
  for (auto& m : measurements) names.push_back(m.name);
  return names;
}

std::vector<CommFigure> measure_comm(const std::string& name, const CommPlan& plan) {
  std::string known;
  for (auto& m : measurements) {
    if (name == m.name) return m.run(plan);
    known += (known.empty() ? "" : ", ") + std::string(m.name);
  }
  bad_argument("there is no measurement '" + name + "'; there are " + known);
}

double quantile(std::vector<double>& seconds, double part) {
  if (seconds.empty()) return 0;
  auto at = seconds.begin() + std::ptrdiff_t(std::min(double(seconds.size()) - 1, part * double(seconds.size())));
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at;
}

void add_samples(CommFigure& figure, std::vector<double> seconds) {
  figure.samples = std::max(figure.samples, i64(seconds.size()));
  figure.median = std::max(figure.median, quantile(seconds, 0.5));
  figure.p99 = std::max(figure.p99, quantile(seconds, 0.99));
}

TeamOptions team_options(const CommPlan& plan, int ranks) {
  TeamOptions o;
  o.ranks = ranks;
  o.devices = plan.devices;
  o.timeout = plan.timeout;
  return o;
}

std::vector<int> possible_ranks(const CommPlan& plan, int least) {
  DeviceReport report = device_report();
  if (!report.reason.empty()) throw Error(Errc::unsupported, "communication of GPUs cannot be measured: " + report.reason);
  int devices = plan.devices.empty() ? int(report.devices.size()) : int(plan.devices.size());
  std::vector<int> ranks;
  for (int r : plan.ranks)
    if (r >= least && r <= devices) ranks.push_back(r);
  return ranks;
}

}  // namespace sordino::cuda
