#include "sordino/base/staging.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "sordino/base/parallel.hpp"

namespace sordino {
namespace {

class Ring {
 public:
  Ring(const Staged& of, i64 others) : of_(of), others_(others), is_empty_(std::size_t(of.buffers), 1) {}

  /// The first pieces, before there are threads for them.
  void start() { begin_as_many_as_fit(0); }
  bool lead() {
    const Over over(*this);
    for (i64 piece = 0; piece < of_.pieces; piece++) {
      if (!begin_as_many_as_fit(piece) || !of_.wait(piece)) return false;
      if (arrived() > others_) empty_one();
    }
    while (empty_one()) {
    }
    return true;
  }
  void follow() {
    try {
      while (await_piece()) empty_one();
    } catch (...) {
      end();
      throw;
    }
  }

 private:
  /// However the caller's part ends, nobody waits for it any longer.
  struct Over {
    explicit Over(Ring& of) : ring(of) {}
    ~Over() { ring.end(); }
    Over(const Over&) = delete;
    Ring& ring;
  };

  /// At least this piece, when it is its turn. False: a thread has failed.
  bool begin_as_many_as_fit(i64 piece) {
    while (begun_ <= piece && !take_buffer())
      if (!empty_one() && !await_buffer()) return false;
    while (begun_ < of_.pieces && take_buffer()) {
    }
    return true;
  }
  bool take_buffer() {
    {
      const std::lock_guard lock(mutex_);
      char& is_empty = is_empty_[std::size_t(begun_ % of_.buffers)];
      if (!is_empty) return false;
      is_empty = 0;
    }
    of_.begin(begun_++);
    return true;
  }
  /// One more is there; how many have arrived that nobody empties yet.
  i64 arrived() {
    const std::lock_guard lock(mutex_);
    arrived_++;
    piece_.notify_one();
    return arrived_ - next_;
  }
  /// False: there is none.
  bool empty_one() {
    i64 piece = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ == arrived_ || over_) return false;
      piece = next_++;
    }
    of_.empty(piece);
    const std::lock_guard lock(mutex_);
    is_empty_[std::size_t(piece % of_.buffers)] = 1;
    buffer_.notify_one();
    return true;
  }
  bool await_piece() {
    std::unique_lock lock(mutex_);
    piece_.wait(lock, [this] { return over_ || next_ < arrived_; });
    return !over_;
  }
  bool await_buffer() {
    std::unique_lock lock(mutex_);
    buffer_.wait(lock, [this] { return over_ || is_empty_[std::size_t(begun_ % of_.buffers)]; });
    return !over_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    piece_.notify_all();
    buffer_.notify_all();
  }

  const Staged& of_;
  const i64 others_;
  i64 begun_ = 0;  // the caller's own
  std::mutex mutex_;
  std::condition_variable piece_, buffer_;
  std::vector<char> is_empty_;  // [buffers]
  i64 arrived_ = 0, next_ = 0;  // pieces; the next one to be emptied
  bool over_ = false;
};

}  // namespace

bool bring(const Staged& staged, int threads) {
  if (staged.pieces == 0) return true;
  const i64 team = std::min<i64>(thread_count(std::max(threads, 1)), staged.pieces);
  Ring ring(staged, team - 1);
  ring.start();
  bool all = false;
  auto work = [&](i64 thread, i64) { thread == 0 ? void(all = ring.lead()) : ring.follow(); };
  for_parts(0, team, work, 1, int(team));
  return all;
}

}  // namespace sordino
