#include "sordino/comm/all_reduce_times.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino {
namespace {

/// The ranks' clocks, and what messages do to them.
class Clocks {
 public:
  Clocks(const MessageCosts& costs, std::vector<double> starts) : costs_(costs), now_(std::move(starts)) {}

  int size() const { return int(now_.size()); }
  /// Keeps the sender; returns when the message comes.
  double send(int from, int to) {
    now_[std::size_t(from)] += costs_.overhead;
    return now_[std::size_t(from)] + (node_of(from) == node_of(to) ? costs_.near : costs_.far);
  }
  void receive(int at, double comes) { now_[std::size_t(at)] = std::max(now_[std::size_t(at)], comes); }
  void lead(int leader, int others) { now_[std::size_t(leader)] += costs_.leading * others; }
  int node_of(int rank) const { return costs_.ranks_per_node > 0 ? rank / costs_.ranks_per_node : 0; }
  int ranks_per_node() const { return costs_.ranks_per_node > 0 ? costs_.ranks_per_node : size(); }
  std::vector<double> times() && { return std::move(now_); }

 private:
  const MessageCosts& costs_;
  std::vector<double> now_;  // [rank] seconds
};

using Team = std::vector<int>;  // ranks, in order

Team all_of(const Clocks& clocks) {
  Team all;
  for (int r = 0; r < clocks.size(); r++) all.push_back(r);
  return all;
}

// Everybody begins with the rank behind it, as schedules::all_gather does.
void play_ordered(Clocks& c) {
  std::vector<double> comes(std::size_t(c.size()), 0.0);
  for (int k = 1; k < c.size(); k++)
    for (int r = 0; r < c.size(); r++) {
      int to = (r + k) % c.size();
      comes[std::size_t(to)] = std::max(comes[std::size_t(to)], c.send(r, to));
    }
  for (int r = 0; r < c.size(); r++) c.receive(r, comes[std::size_t(r)]);
}

// The ranks as schedules::all_reduce_by_doubling renumbers them.
void play_doubling(Clocks& c) {
  int core = 1;
  while (2 * core <= c.size()) core *= 2;
  int extra = c.size() - core;
  auto rank_at = [extra](int p) { return p < extra ? 2 * p + 1 : p + extra; };
  for (int e = 0; e < extra; e++) c.receive(2 * e + 1, c.send(2 * e, 2 * e + 1));
  for (int distance = 1; distance < core; distance *= 2) {
    std::vector<double> comes;
    for (int p = 0; p < core; p++) comes.push_back(c.send(rank_at(p), rank_at(p ^ distance)));
    for (int p = 0; p < core; p++) c.receive(rank_at(p), comes[std::size_t(p ^ distance)]);
  }
  for (int e = 0; e < extra; e++) c.receive(2 * e, c.send(2 * e + 1, 2 * e));
}

void play_reduction(Clocks& c, const Team& team, int degree) {
  std::vector<double> comes(team.size(), 0.0);
  for (int place = int(team.size()) - 1; place >= 0; place--) {  // children have higher places
    auto tree = schedules::tree_place(place, int(team.size()), degree);
    for (auto& step : tree.children)
      for (int child : step) c.receive(team[std::size_t(place)], comes[std::size_t(child)]);
    if (tree.parent >= 0) comes[std::size_t(place)] = c.send(team[std::size_t(place)], team[std::size_t(tree.parent)]);
  }
}

void play_broadcast(Clocks& c, const Team& team, int degree) {
  std::vector<double> comes(team.size(), 0.0);
  for (int place = 0; place < int(team.size()); place++) {
    int rank = team[std::size_t(place)];
    auto tree = schedules::tree_place(place, int(team.size()), degree);
    if (tree.parent >= 0) c.receive(rank, comes[std::size_t(place)]);
    for (auto step = tree.children.rbegin(); step != tree.children.rend(); ++step)
      for (int child : *step) comes[std::size_t(child)] = c.send(rank, team[std::size_t(child)]);
  }
}

void play_tree(Clocks& c, const Team& team, const AllReduceOptions& o) {
  play_reduction(c, team, o.reduce_degree);
  play_broadcast(c, team, o.broadcast_degree);
}

void play_two_level(Clocks& c, const AllReduceOptions& o) {
  Team leaders;
  auto each_member = [&](int leader, auto&& visit) {
    int end = std::min(leader + c.ranks_per_node(), c.size());
    for (int r = leader + 1; r < end; r++) visit(r);
    return end - leader - 1;
  };
  for (int leader = 0; leader < c.size(); leader += c.ranks_per_node()) {
    leaders.push_back(leader);
    int others = each_member(leader, [&](int r) { c.receive(leader, c.send(r, leader)); });
    c.lead(leader, others);
  }
  play_tree(c, leaders, o);
  for (int leader : leaders) {
    int others = each_member(leader, [](int) {});
    c.lead(leader, others);
    each_member(leader, [&](int r) { c.receive(r, c.send(leader, r)); });
  }
}

}  // namespace

MessageCosts costs_of_commands(const Machine& m) {
  return {m.put_overhead_s, m.link_latency_s, m.internode_latency_s, m.leader_skew_s, m.ranks_per_node};
}

MessageCosts costs_of_host_data(const Machine& m) {
  double overhead = m.host_overhead_s > 0 ? m.host_overhead_s : m.put_overhead_s;
  return {overhead, m.link_latency_s, m.internode_latency_s, m.leader_skew_s, m.ranks_per_node};
}

std::vector<double> all_reduce_ends(const AllReduceOptions& o, const MessageCosts& costs, std::vector<double> starts) {
  Clocks clocks(costs, std::move(starts));
  switch (o.algorithm) {
    case Algorithm::ordered: play_ordered(clocks); break;
    case Algorithm::recursive_doubling: play_doubling(clocks); break;
    case Algorithm::tree: play_tree(clocks, all_of(clocks), o); break;
    case Algorithm::two_level: play_two_level(clocks, o); break;
    default:
      throw Error(Errc::unsupported, std::string("how long the all-reduce ") + name(o.algorithm) +
                                         " takes does not follow from a machine's description; there are ordered, "
                                         "recursive_doubling, tree and two_level");
  }
  return std::move(clocks).times();
}

double all_reduce_time(const AllReduceOptions& o, const MessageCosts& costs, int ranks) {
  auto ends = all_reduce_ends(o, costs, std::vector<double>(std::size_t(ranks), 0.0));
  return *std::max_element(ends.begin(), ends.end());
}

}  // namespace sordino
