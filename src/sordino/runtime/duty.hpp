// A thread that looks for work again and again while it is on duty, and sleeps while it is not.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sordino {

class Duty {
 public:
  /// `look` does what there is to do and says whether there was any. `may_leave` says whether nothing is left that somebody
  /// needs of this thread. Neither throws. Both are called by the thread alone, with mutex() held. Begins off duty.
  Duty(std::function<bool()> look, std::function<bool()> may_leave);
  ~Duty();  // ends it
  Duty(const Duty&) = delete;

  void begin();
  /// Waits until a look has found nothing and the thread may leave, a few seconds at most for the latter.
  void leave();
  /// For good, after the look that is under way.
  void end();

  std::mutex& mutex() { return mutex_; }

 private:
  void live();

  std::function<bool()> look_, may_leave_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  bool wanted_ = false, off_ = true, ended_ = false;
  std::thread thread_;
};

}  // namespace sordino
