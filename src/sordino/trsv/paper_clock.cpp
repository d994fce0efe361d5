#include "sordino/trsv/paper_clock.hpp"

#include <algorithm>
#include <queue>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "sordino/base/error.hpp"

namespace sordino::trsv::paper {
namespace {

template <class V>
class Clock {
 public:
  Clock(const Factor<V>& factor, const Layout& layout, const Machine& machine, const ClockOptions& options, const V* b,
        const ReceiveSum<V>& receive)
      : factor_(factor),
        pattern_(factor.pattern()),
        layout_(layout),
        machine_(machine),
        options_(options),
        b_(b),
        receive_(receive),
        random_(options.seed) {
    for (i32 r = 0; r < layout.grid.ranks(); r++) {
      const Part& part = layout.parts[std::size_t(r)];
      Device& d = devices_.emplace_back();
      d.rank = std::make_unique<Rank<V>>(factor, layout, r);
      d.idle = options.workers;
      d.waits[0].expected = std::count(part.column_mask.begin(), part.column_mask.end(), 0);
      d.waits[1].expected = std::count(part.row_mask.begin(), part.row_mask.end(), 0);
    }
  }

  ClockReport run(V* x) {
    for (i32 r = 0; r < i32(devices_.size()); r++) go_on(r);
    while (!events_.empty()) {
      const Event e = std::move(const_cast<Event&>(events_.top()));
      events_.pop();
      now_ = e.time;
      happens(e);
      go_on(e.rank);
    }
    check_end();
    for (i32 K = 0; K < pattern_.count(); K++)
      for (i32 k = 0; k < pattern_.width(K); k++)
        x[factor_.order()[std::size_t(pattern_.column[std::size_t(K)] + k)]] =
            devices_[std::size_t(layout_.grid.owner(K, K))].rank->x(K)[k];
    report_.seconds = now_;
    return report_;
  }

 private:
  enum class Kind { triangle, block, arrival, seen };
  struct Event {
    Kind kind = Kind::triangle;
    i32 rank = 0;
    i64 column = 0, at = 0;  // of a triangle or block: of the part's columns, and of its blocks
    Message<V> message = {};
    std::vector<V> data = {};
    double time = 0;
    u64 draw = 0;  // among events of one time, at random with a seed
    bool operator<(const Event& o) const { return std::tie(o.time, o.draw) < std::tie(time, draw); }
  };
  struct Wait {  // an actor of the kernel WAIT
    i64 expected = 0;
    bool busy = false;
    std::vector<i32> come = {};
  };
  struct Resident {  // a thread block that spins
    i64 column;
    double since;
  };
  struct Device {
    std::unique_ptr<Rank<V>> rank = {};
    int idle = 0, computing = 0;
    i64 next = 0, done = 0;
    std::vector<Resident> spinning = {};
    Wait waits[2] = {};
  };

  double delayed(double seconds) {
    return options_.seed == 0 ? seconds : seconds * std::uniform_real_distribution<double>(1, 10)(random_);
  }
  void schedule(double seconds, Event e) {
    e.time = now_ + delayed(seconds);
    e.draw = options_.seed == 0 ? count_++ : random_();
    events_.push(std::move(e));
  }
  Device& at(i32 rank) { return devices_[std::size_t(rank)]; }
  const Part& part(i32 rank) const { return layout_.parts[std::size_t(rank)]; }

  /// Thread blocks begin in the order of the columns (004-E11), and go on when they may.
  void go_on(i32 r) {
    Device& d = at(r);
    for (; d.idle > 0 && d.next < i64(part(r).columns.size()); d.idle--) d.spinning.push_back({d.next++, now_});
    for (std::size_t k = 0; k < d.spinning.size();) {
      const Resident s = d.spinning[k];
      const i32 K = part(r).columns[std::size_t(s.column)];
      if (!d.rank->may_begin(K)) {
        k++;
        continue;
      }
      d.spinning.erase(d.spinning.begin() + i64(k));
      report_.waiting += now_ - s.since;
      d.computing++;
      const i64 width = layout_.grid.owner(K, K) == r ? pattern_.width(K) : 0;
      schedule(cost(d, width * width / 2), {.kind = Kind::triangle, .rank = r, .column = s.column});
    }
  }
  double cost(const Device& d, i64 values) const {
    const double bandwidth = std::min(options_.lone_bandwidth, machine_.memory_bandwidth / std::max(d.computing, 1));
    return options_.step_seconds + double(values) * sizeof(V) / bandwidth;
  }

  void happens(const Event& e) {
    Device& d = at(e.rank);
    const Post<V> post = [&](const Message<V>& m) { send(e.rank, m); };
    const i32 K = e.kind < Kind::arrival ? part(e.rank).columns[std::size_t(e.column)] : 0;
    switch (e.kind) {
      case Kind::triangle:
        d.rank->begin(K, b_, post);
        next_block(e.rank, e.column, part(e.rank).begin[std::size_t(e.column)]);
        break;
      case Kind::block:
        d.rank->multiply(K, part(e.rank).blocks[std::size_t(e.at)], product_, post);
        next_block(e.rank, e.column, e.at + 1);
        break;
      case Kind::arrival: {
        Message<V> m = e.message;
        m.data = e.data.data();
        d.rank->deliver(m);
        d.waits[m.is_sum].come.push_back(m.index);
        look(e.rank, m.is_sum);
        break;
      }
      case Kind::seen: {
        Wait& w = d.waits[e.message.is_sum];
        if (e.message.is_sum) receive_(*d.rank, e.message.index, post);
        w.expected--;
        w.busy = false;
        look(e.rank, e.message.is_sum);
      }
    }
  }

  void next_block(i32 r, i64 column, i64 at_block) {
    Device& d = at(r);
    if (at_block == part(r).begin[std::size_t(column) + 1]) {
      d.computing--;
      d.idle++;
      d.done++;
      return;
    }
    const i64 e = part(r).blocks[std::size_t(at_block)];
    const i32 width = pattern_.width(part(r).columns[std::size_t(column)]);
    schedule(cost(d, i64(width) * pattern_.height[std::size_t(e)]),
             {.kind = Kind::block, .rank = r, .column = column, .at = at_block});
  }

  void send(i32 from, const Message<V>& m) {
    const double bytes = double(m.count) * sizeof(V);
    report_.messages++;
    report_.message_bytes += i64(bytes);
    const bool near = machine_.same_node(from, m.to);
    schedule(machine_.put_overhead_s + (near ? machine_.link_latency_s + bytes / machine_.link_bandwidth
                                             : machine_.internode_latency_s + bytes / machine_.internode_bandwidth),
             {.kind = Kind::arrival, .rank = m.to, .message = m, .data = std::vector<V>(m.data, m.data + m.count)});
  }

  /// wait_until_any: WAIT takes one of those that have come, and is busy with it.
  void look(i32 r, bool for_sums) {
    Wait& w = at(r).waits[for_sums];
    if (w.busy || w.come.empty()) return;
    const std::size_t k = options_.seed == 0 ? 0 : std::size_t(random_() % w.come.size());
    const i32 index = w.come[k];
    w.come.erase(w.come.begin() + i64(k));
    w.busy = true;
    schedule(options_.step_seconds, {.kind = Kind::seen, .rank = r, .message = {.is_sum = for_sums, .index = index}});
  }

  void check_end() const {
    for (std::size_t r = 0; r < devices_.size(); r++) {
      const Device& d = devices_[r];
      const i64 columns = i64(layout_.parts[r].columns.size());
      if (d.done == columns && d.waits[0].expected == 0 && d.waits[1].expected == 0) continue;
      throw Error(Errc::peer_failed, "the solve hangs: rank " + std::to_string(r) + " has done " + std::to_string(d.done) +
                                         " of its " + std::to_string(columns) + " block columns, and " +
                                         std::to_string(d.waits[0].expected + d.waits[1].expected) +
                                         " messages never reach it");
    }
  }

  const Factor<V>& factor_;
  const Pattern& pattern_;
  const Layout& layout_;
  const Machine& machine_;
  const ClockOptions& options_;
  const V* b_;
  const ReceiveSum<V>& receive_;
  std::mt19937_64 random_;
  std::vector<Device> devices_;
  std::priority_queue<Event> events_;
  std::vector<V> product_;
  u64 count_ = 0;
  double now_ = 0;
  ClockReport report_;
};

}  // namespace

template <class V>
ClockReport clock_solve(const Factor<V>& factor, const Layout& layout, const Machine& machine, const ClockOptions& options,
                        const V* b, V* x, const ReceiveSum<V>& receive) {
  if (options.workers < 1) bad_argument("a rank has one thread block or more");
  const ReceiveSum<V> corrected = [](Rank<V>& rank, i32 slot, const Post<V>& post) { rank.receive_sum(slot, post); };
  return Clock<V>(factor, layout, machine, options, b, receive ? receive : corrected).run(x);
}

template ClockReport clock_solve(const Factor<float>&, const Layout&, const Machine&, const ClockOptions&, const float*, float*,
                                 const ReceiveSum<float>&);
template ClockReport clock_solve(const Factor<double>&, const Layout&, const Machine&, const ClockOptions&, const double*,
                                 double*, const ReceiveSum<double>&);
template ClockReport clock_solve(const Factor<Number>&, const Layout&, const Machine&, const ClockOptions&, const Number*,
                                 Number*, const ReceiveSum<Number>&);

}  // namespace sordino::trsv::paper
