// Payloads that MPI sends from where they lie to where they belong, beside messages that announce them: the way of rows from
// GPU to GPU. Host memory stands here for that of GPUs, which MPI need not know.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <memory>
#include <thread>

#include "check.hpp"
#include "mpi_world.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/comm/transport/mpi.hpp"
#include "sordino/runtime/transport.hpp"

using namespace sordino;
using namespace mpi_world;

namespace {

constexpr int sizes[] = {1, 3, 700, 200'000, 17};  // words: short ones and long ones, which MPI sends in different ways

double word(int from, int to, int nth, i64 i) { return double(i + 1000 * nth + 100'000 * from + 10'000'000 * to); }

std::vector<double> payload(int from, int to, int nth) {
  std::vector<double> words(std::size_t(sizes[std::size_t(nth) % std::size(sizes)]));
  for (std::size_t i = 0; i < words.size(); i++) words[i] = word(from, to, nth, i64(i));
  return words;
}

/// Announces payloads to all others, receives theirs, and knows which have come.
class Trader {
 public:
  explicit Trader(int rounds) : rounds_(rounds), transport_(mpi::transport(1)), came_(std::size_t(processes())) {}

  void run() {
    for (int nth = 0; nth < rounds_; nth++) {
      send(nth);
      step();
    }
    double begin = seconds_now();
    while (!all_there() || !transport_->all_sent()) {
      step();
      REQUIRE(seconds_now() - begin < 60);
    }
  }
  void check() const {
    for (int from = 0; from < processes(); from++)
      for (int nth = 0; from != process() && nth < rounds_; nth++) {
        NOTE("payload ", nth, " of process ", from);
        REQUIRE(came_[std::size_t(from)][std::size_t(nth)].words == payload(from, process(), nth));
      }
    CHECK(notes_ == rounds_ * (processes() - 1));
  }

 private:
  struct Arrival {
    std::vector<double> words;
    bool there = false;
  };
  struct Announced {
    int from, nth;
    std::size_t bytes;
  };

  void send(int nth) {
    for (int to = 0; to < processes(); to++) {
      if (to == process()) continue;
      const auto& words = kept_.emplace_back(payload(process(), to, nth));
      std::size_t bytes = words.size() * sizeof(double);
      transport_->send(to, {.kind = Message::placed_halo, .slot = nth, .from = process(), .to = to}, &bytes, sizeof bytes);
      transport_->send_placed(to, words.data(), bytes);
      transport_->send(to, {.kind = Message::host_data, .slot = nth, .from = process(), .to = to}, nullptr, 0);
    }
  }
  void step() {
    transport_->poll([&](const Message& m, const std::byte* data, std::size_t) {
      if (m.kind == Message::host_data) {
        notes_++;
        return;
      }
      Announced a{m.from, int(m.slot), 0};
      std::copy_n(data, sizeof a.bytes, reinterpret_cast<std::byte*>(&a.bytes));
      announced_.push_back(a);
    });
    for (auto [from, nth, bytes] : announced_) {
      auto& list = came_[std::size_t(from)];
      if (list.empty()) list.resize(std::size_t(rounds_));
      Arrival& arrival = list[std::size_t(nth)];
      arrival.words.resize(bytes / sizeof(double));
      transport_->receive_placed(from, arrival.words.data(), bytes, [&arrival] { arrival.there = true; });
    }
    announced_.clear();
  }
  bool all_there() const {
    for (int from = 0; from < processes(); from++) {
      auto& list = came_[std::size_t(from)];
      if (from != process() && (list.empty() || !std::ranges::all_of(list, &Arrival::there))) return false;
    }
    return notes_ == rounds_ * (processes() - 1);
  }

  int rounds_, notes_ = 0;
  std::list<std::vector<double>> kept_;  // what is sent from where it lies stays there
  std::unique_ptr<Transport> transport_;
  std::vector<std::vector<Arrival>> came_;
  std::vector<Announced> announced_;
};

}  // namespace

TEST("payloads come to where they belong, in the order of what announces them, between all processes at once") {
  for (int rounds : {1, 40}) {
    NOTE(rounds, " rounds");
    Trader trader(rounds);
    trader.run();
    trader.check();
  }
}

TEST("the MPI that a program was linked with is found in it") {
  CHECK(mpi::absence().empty());
  CHECK(!mpi::library().empty());
}

TEST("threads call MPI as they come where it grants that, and one at a time where it does not or is told so") {
  mpi::World w = mpi::world();
  CHECK(w.threads.starts_with("MPI_THREAD_"));
  CHECK(w.serialized == (std::getenv("SORDINO_MPI_CALLS") || w.threads != "MPI_THREAD_MULTIPLE"));
}

TEST("threads of a process send while others of it receive: all comes whole, each thread's messages in order") {
  constexpr int threads = 3, rounds = 20;
  const int n = processes();
  auto transport = mpi::transport(1);
  const auto all = static_cast<std::size_t>(n);
  std::vector<std::vector<int>> next(all, std::vector<int>(threads));  // number of each thread's message
  std::atomic<int> came = 0, sent = 0, wrong = 0;
  const int expected = (n - 1) * threads * rounds;
  auto deliver = [&](const Message& m, const std::byte* data, std::size_t bytes) {  // by one thread at a time
    std::vector<double> words(bytes / sizeof(double));
    std::copy_n(data, bytes, reinterpret_cast<std::byte*>(words.data()));
    wrong += m.place != next[std::size_t(m.from)][std::size_t(m.peer)]++ ||
             words != payload(m.from, process(), m.place + 7 * m.peer);
    came++;
  };
  double begin = seconds_now();
  auto late = [&] { return seconds_now() - begin > 200; };  // something is lost
  auto work = [&](int thread) {
    for (int nth = 0; nth < rounds; nth++)
      for (int to = 0; to < n; to++) {
        if (to == process()) continue;
        auto words = payload(process(), to, nth + 7 * thread);
        transport->send(to, {.kind = Message::host_data, .from = process(), .to = to, .place = nth, .peer = thread},
                        words.data(), words.size() * sizeof(double));
        sent++;
        transport->poll(deliver);
      }
    while ((came < expected || !transport->all_sent()) && !late()) transport->poll(deliver);
  };
  std::vector<std::thread> team;
  for (int t = 0; t < threads; t++) team.emplace_back(work, t);
  for (auto& t : team) t.join();
  CHECK(sent == expected);
  CHECK(came == expected);
  CHECK(wrong == 0);
  CHECK(transport->all_sent());
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST("a transport that goes while payloads are awaited, or not yet received, keeps nobody waiting") {
  static std::vector<double> words(300'000, 1.0), place(1);  // MPI may look there later
  double begin = seconds_now();
  {
    auto transport = mpi::transport(1);
    if (process() % 2 == 0)
      transport->send_placed(process() + 1, words.data(), words.size() * sizeof(double));
    else
      transport->receive_placed(process(), place.data(), sizeof(double), [] {});  // which nobody sends
  }
  CHECK(seconds_now() - begin < 30);
  MPI_Barrier(MPI_COMM_WORLD);
  Trader again(3);
  again.run();
  again.check();
}
