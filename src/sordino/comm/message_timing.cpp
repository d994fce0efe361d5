#include "sordino/comm/message_timing.hpp"

#include <algorithm>

#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int channel = 4;
constexpr int window = 16;  // messages in one direction before an answer
constexpr const char* names[] = {"ping_pong", "one_way", "both_ways", "broadcast"};

class Trader {
 public:
  Trader(Rank& rank, i64 bytes) : rank_(rank), comm_(rank, channel), message_(std::size_t(bytes)) {}

  /// Seconds of one message, as this rank sees it.
  double once(Traffic traffic) {
    rank_.engine().barrier(rank_);
    double begin = now();
    if (traffic == Traffic::broadcast)
      (void)comm_.broadcast(message_, 0);
    else if (takes_part())
      trade(traffic);
    return (now() - begin) / messages(traffic);
  }
  /// Of the slowest rank.
  double slowest(std::vector<double> seconds) {
    auto all = comm_.all_reduce(seconds, Fold::max, {.algorithm = Algorithm::tree});
    auto middle = all.begin() + std::ptrdiff_t(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

 private:
  static double messages(Traffic traffic) {
    return traffic == Traffic::broadcast ? 1 : traffic == Traffic::ping_pong ? 2 * window : window;
  }
  double now() { return rank_.engine().now(rank_); }
  bool first() const { return rank_.id() == 0; }
  bool takes_part() const { return first() || rank_.id() == rank_.size() - 1; }
  int other() const { return first() ? rank_.size() - 1 : 0; }
  void send() { comm_.send(other(), message_); }
  void receive() { (void)comm_.receive<std::byte>(other()); }

  void trade(Traffic traffic) {
    for (int k = 0; k < window; k++) {
      bool alternates = traffic == Traffic::ping_pong;
      if (first() || traffic == Traffic::both_ways) send();
      if ((first() && alternates) || (!first() && traffic != Traffic::both_ways)) receive();
      if (!first() && alternates) send();
    }
    if (traffic == Traffic::both_ways)
      for (int k = 0; k < window; k++) receive();
    if (traffic == Traffic::one_way) first() ? receive() : comm_.send(other(), std::vector<std::byte>());
  }

  Rank& rank_;
  Communicator comm_;
  std::vector<std::byte> message_;
};

}  // namespace

Traffic traffic_named(const std::string& word) {
  std::string known;
  for (int k = 0; k < int(std::size(names)); k++) {
    if (word == names[k]) return Traffic(k);
    known += (k ? ", " : "") + std::string(names[k]);
  }
  bad_argument("there is no traffic '" + word + "'; there are " + known);
}

double time_traffic(Engine& engine, Traffic traffic, i64 bytes, int repeats) {
  if (engine.size() < 2 || bytes < 0 || repeats < 1)
    bad_argument("messages of 0 or more bytes are timed between 2 or more ranks, at least once, not of " +
                 std::to_string(bytes) + " bytes between " + std::to_string(engine.size()) + " ranks " +
                 std::to_string(repeats) + " times");
  double seconds = 0;
  engine.run([&](Rank& rank) {
    Trader trader(rank, bytes);
    std::vector<double> times;
    (void)trader.once(traffic);  // first touch
    for (int k = 0; k < repeats; k++) times.push_back(trader.once(traffic));
    double slowest = trader.slowest(times);
    if (rank.id() == engine.first_rank()) seconds = slowest;
  });
  return seconds;
}

}  // namespace sordino
