#include "sordino/trsv/paper_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "sordino/base/error.hpp"

namespace sordino::trsv::paper {
namespace {

/// What one thread block of SOLVE does.
struct Node {
  i32 column, rank;
  double values;
  i32 level;
};

/// Nodes of all ranks, column by column and in the order of the broadcast trees, and their levels.
class Graph {
 public:
  Graph(const Pattern& pattern, const Layout& layout) : p_(pattern), layout_(layout), first_(layout.broadcasts.begin) {
    for (i32 K = 0; K < p_.count(); K++)
      for (i32 place = 0; place < layout.broadcasts.size(K); place++)
        nodes.push_back({K, layout.broadcasts.at(K, place), 0, -1});
    std::vector<char> awaits(nodes.size(), 0);
    for (i32 K = 0; K < p_.count(); K++)
      for (i64 e = p_.begin[std::size_t(K)]; e < p_.begin[std::size_t(K) + 1]; e++) {
        Node& node = nodes[node_of(e, K)];
        node.values += double(p_.width(K)) * p_.height[std::size_t(e)];
        if (node.rank != owner(K)) awaits[node_of(e, K)] = 1;
        if (node.rank != owner(p_.row[std::size_t(e)])) awaits[diagonal(p_.row[std::size_t(e)])] = 1;
      }
    search(awaits);
  }

  std::vector<Node> nodes;
  i32 levels = 0;

 private:
  i32 owner(i32 K) const { return layout_.grid.owner(K, K); }
  std::size_t diagonal(i32 K) const { return std::size_t(first_[std::size_t(K)]); }
  std::size_t node_of(i64 e, i32 K) const {
    const i32 rank = layout_.grid.owner(p_.row[std::size_t(e)], K);
    return std::size_t(first_[std::size_t(K)] + layout_.broadcasts.place(K, rank));
  }

  void search(const std::vector<char>& awaits) {
    std::queue<std::size_t> open;
    for (std::size_t k = 0; k < nodes.size(); k++)
      if (!awaits[k]) nodes[k].level = 0, open.push(k);
    auto reach = [&](std::size_t k, i32 level) {
      if (nodes[k].level < 0) nodes[k].level = level, open.push(k);
    };
    while (!open.empty()) {
      const Node node = nodes[open.front()];
      open.pop();
      levels = std::max(levels, node.level + 1);
      const i32 K = node.column;
      if (node.rank == owner(K))
        for (i64 k = first_[std::size_t(K)] + 1; k < first_[std::size_t(K) + 1]; k++) reach(std::size_t(k), node.level + 1);
      for (i64 e = p_.begin[std::size_t(K)] + 1; e < p_.begin[std::size_t(K) + 1]; e++) {
        const i32 I = p_.row[std::size_t(e)];
        if (layout_.grid.owner(I, K) == node.rank && owner(I) != node.rank) reach(diagonal(I), node.level + 1);
      }
    }
  }

  const Pattern& p_;
  const Layout& layout_;
  const std::vector<i64>& first_;
};

struct Messages {
  double seconds = 0;
  i64 count = 0;
};

/// Lines 28 - 41: what each rank sends, all of x from the owner of the diagonal block, and of sums each its own.
std::vector<Messages> messages_of(const Pattern& p, const Layout& layout, const Cluster& cluster) {
  std::vector<Messages> all(layout.parts.size());
  for (i32 K = 0; K < p.count(); K++) {
    const double bytes = rounded_up(8.0 * p.width(K));  // 004-E16
    const i32 owner = layout.broadcasts.at(K, 0);
    const i64 n = layout.broadcasts.size(K) - 1;
    double each = 0, latency = 0;
    for (i32 place = 1; place <= n; place++) {
      const i32 to = layout.broadcasts.at(K, place);
      each += cluster.message(owner, to, bytes, false) / double(n);
      latency = std::max(latency, cluster.way(owner, to).latency_s);
    }
    if (n > 0) all[std::size_t(owner)].seconds += latency + not_overlapped(n) * each;
    all[std::size_t(owner)].count += n;
    for (i32 place = 1; place < layout.reductions.size(K); place++) {  // 004-E17
      const i32 from = layout.reductions.at(K, place);
      Messages& m = all[std::size_t(from)];
      m.seconds += cluster.way(from, owner).latency_s + not_overlapped(1) * cluster.message(from, owner, bytes, true);
      m.count++;
    }
  }
  return all;
}

/// Lines 8 - 43, with the nodes of each rank level by level.
Prediction model(const Graph& graph, const std::vector<Messages>& messages, const Cluster& cluster, bool adjusted,
                 double initial) {
  const std::size_t ranks = messages.size();
  std::vector<std::vector<std::pair<i32, double>>> of_rank(ranks);  // level, bytes
  for (const Node& node : graph.nodes) of_rank[std::size_t(node.rank)].push_back({node.level, 8 * node.values});
  Prediction worst{.levels = graph.levels, .initial_bandwidth = initial, .refined = !adjusted};
  for (std::size_t r = 0; r < ranks; r++) {
    auto& nodes = of_rank[r];
    std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    LevelTime time(cluster, adjusted, initial);
    for (std::size_t k = 0; k < nodes.size(); k++) {
      time.node(nodes[k].second);
      if (k + 1 == nodes.size() || nodes[k + 1].first != nodes[k].first) time.end_level();
    }
    const double seconds = time.seconds() + messages[r].seconds;  // 004-E18
    if (seconds < worst.seconds) continue;
    worst.seconds = seconds;
    worst.computing = time.seconds();
    worst.communicating = messages[r].seconds;
    worst.messages = messages[r].count;
  }
  return worst;
}

Prediction model(const Pattern& pattern, const Grid& grid, const Cluster& cluster, double limit) {
  const Layout layout = lay_out(pattern, grid);
  const Graph graph(pattern, layout);
  const auto messages = messages_of(pattern, layout, cluster);
  const double initial = block_bandwidth(cluster, double(pattern.count()) / grid.ranks());
  const Prediction first = model(graph, messages, cluster, true, initial);                         // 004-E14
  Prediction p = first.seconds < limit ? model(graph, messages, cluster, false, initial) : first;  // l.44
  const Traffic traffic = traffic_of(pattern, layout, 8);
  p.broadcasts = traffic.broadcasts, p.reductions = traffic.reductions;
  return p;
}

/// Columns of the most even grid that is at least as high as it is wide.
int most_even_columns(int gpus) {
  int columns = int(std::sqrt(double(gpus)));
  while (gpus % columns != 0) columns--;
  return columns;
}

}  // namespace

double Cluster::message(i32 from, i32 to, double bytes, bool by_one_thread) const {
  const Way& w = way(from, to);
  return w.seconds(bytes) * (by_one_thread && from / gpus_per_node == to / gpus_per_node ? one_thread : 1);
}

double block_bandwidth(const Cluster& c, double blocks) {
  return std::clamp(c.memory_bandwidth / blocks, c.least_bandwidth, c.most_bandwidth);
}

double not_overlapped(i64 n) { return n > 2 ? std::log2(double(n)) : double(n); }

double rounded_up(double bytes) { return std::exp2(std::ceil(std::log2(bytes))); }

void LevelTime::node(double bytes) {
  nodes_++;
  bytes_ += bytes;
  if (nodes_ < c_.full_blocks) return;
  seconds_ += bytes_ / c_.memory_bandwidth;
  bytes_ = 0, nodes_ = 0;  // 004-E12
}

void LevelTime::end_level() {
  if (nodes_ > 0) {                                                               // 004-E13
    const double bandwidth = adjusted_ ? block_bandwidth(c_, nodes_) : initial_;  // 004-E15: of this level only
    seconds_ += bytes_ / (bandwidth * nodes_);
  }
  bytes_ = 0, nodes_ = 0;
}

Prediction predict(const Pattern& pattern, const Grid& grid, const Cluster& cluster) {
  return predict(pattern, std::vector<Grid>{grid}, cluster).front();
}

std::vector<Prediction> predict(const Pattern& pattern, const std::vector<Grid>& grids, const Cluster& cluster) {
  const bool several = std::ranges::any_of(grids, [](const Grid& grid) { return grid.ranks() > 1; });
  const double single = several ? model(pattern, {1, 1}, cluster, 0).seconds : 0;
  std::vector<Prediction> all;
  for (const Grid& grid : grids) all.push_back(model(pattern, grid, cluster, grid.ranks() > 1 ? single / grid.ranks() : 0));
  return all;
}

Grid grid_of(Shape shape, int gpus) {
  if (gpus < 1) bad_argument("a model has one GPU or more, and " + std::to_string(gpus) + " were asked for");
  if (shape == Shape::column_broadcast) return {gpus, 1};
  if (shape == Shape::row_reduction) return {1, gpus};
  if (const int columns = most_even_columns(gpus); columns > 1) return {gpus / columns, columns};
  bad_argument("no grid of " + std::to_string(gpus) + " GPUs has more than one row and more than one column");
}

std::vector<Scaling> scaling(const Pattern& pattern, const Cluster& cluster, int most_gpus) {
  std::vector<Scaling> all;
  std::vector<Grid> grids;
  for (Shape shape : {Shape::column_broadcast, Shape::row_reduction, Shape::two_dimensional})
    for (int gpus = 1; gpus <= most_gpus; gpus++) {
      if (shape == Shape::two_dimensional && most_even_columns(gpus) == 1) continue;
      grids.push_back(grid_of(shape, gpus));
      all.push_back({shape, grids.back(), {}});
    }
  const std::vector<Prediction> predictions = predict(pattern, grids, cluster);
  for (std::size_t k = 0; k < all.size(); k++) all[k].prediction = predictions[k];
  return all;
}

Cluster summit() {
  constexpr double size = 1024, half = 128;
  const double network = 75e6 * (size + half) / size, socket = 3.9 * network;
  return {.socket = {2e-7, socket, half}, .node = {2e-7, socket / 1.2, half}, .network = {1e-6, network, half}};
}

Cluster cluster_of(const Machine& m, int multiprocessors) {
  if (multiprocessors < 1) bad_argument("a GPU has one multiprocessor or more");
  const Way near{m.put_overhead_s + m.link_latency_s, m.link_bandwidth, 0};
  const int node = m.ranks_per_node > 0 ? m.ranks_per_node : std::numeric_limits<int>::max();
  return {.memory_bandwidth = m.memory_bandwidth,
          .least_bandwidth = m.memory_bandwidth / (8.0 * multiprocessors),
          .most_bandwidth = m.memory_bandwidth / (2.0 * multiprocessors),
          .full_blocks = 2 * multiprocessors,
          .gpus_per_socket = node,
          .gpus_per_node = node,
          .socket = near,
          .node = near,
          .network = {m.put_overhead_s + m.internode_latency_s, m.internode_bandwidth, 0}};
}

}  // namespace sordino::trsv::paper
