// One host thread per rank, kept between runs. Used by the host and cuda engines.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sordino {

class ThreadTeam {
 public:
  explicit ThreadTeam(int threads);
  /// Ends the threads. One that is stuck in foreign code is detached.
  ~ThreadTeam();

  /// Runs job(i) on thread i and waits for all. `tick` is called about 20 times a second on the calling thread; it returns the
  /// number of seconds the team may still take, or a negative number for "as long as it needs". What it throws is thrown here
  /// when the team has ended; it is not called again. Returns false if the time ran out with a thread still in its job; the
  /// team is then not to be used again.
  bool run(const std::function<void(int)>& job, const std::function<double()>& tick);
  bool stuck() const { return stuck_; }

 private:
  struct State {  // outlives the team if a thread is stuck
    std::mutex mutex;
    std::condition_variable wake, done;
    std::function<void(int)> job;
    unsigned long round = 0;
    int running = 0;
    bool end = false;
  };
  void end();
  static void loop(std::shared_ptr<State> state, int i);

  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
  bool stuck_ = false;
};

}  // namespace sordino
