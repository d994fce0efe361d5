// The host twin of a vector: memory of the host, of the rank's own, that its own rows are copied to and from on request.
#pragma once
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "sordino/base/types.hpp"

namespace sordino {

class Rank;

/// A copy of a vector's own rows to its twin, or from there.
struct TwinCopy {
  int vector = -1;    // whose twin: a logical name
  int physical = -1;  // which buffer the name means
  double* twin = nullptr;
  i64 count = 0;  // doubles
  bool fetches = false;
};

/// What a rank and the handles of its copies share of a twin.
struct Twin {
  Rank* rank = nullptr;           // null: it has gone
  std::unique_ptr<double[]> own;  // where the engine pins nothing
  TwinCopy copy;                  // that is under way, or was the last one
  bool is_under_way = false;
  bool is_given_up = false;  // a wait for it has failed: the engine may still be copying
  u64 copies = 0;            // started so far
};

/// Rank::start_fetch() and Rank::start_store() return it. Move-only; used by the thread of its rank.
///
/// test() says, without waiting, whether the copy has ended; wait() waits for it, with the engine's timeout, and throws if
/// another rank fails meanwhile. Once it has ended both return at once. Until test() has said so, or wait() has returned, the
/// twin must be left alone: not read if it is fetched into, not written if it is stored from. All else that would touch the
/// vector (reading and writing it, another copy, a recording that uses it or trades its place) throws bad_argument; what uses
/// other vectors goes on meanwhile. A handle that is dropped waits, unless a wait of it has failed before.
///
/// A wait that throws ends the handle, and not always the copy: a device may still write to the twin, or read it. The twin must
/// be left alone, and the vector stays refused, until the copy is found to be over or the engine is gone, which waits for it.
class [[nodiscard]] Transfer {
 public:
  Transfer(Transfer&& other) noexcept = default;
  Transfer& operator=(Transfer&&) = delete;
  ~Transfer() noexcept(false);

  bool test();
  void wait();

 private:
  friend class Rank;
  explicit Transfer(std::shared_ptr<Twin> twin) : twin_(std::move(twin)), number_(twin_->copies) {}
  bool is_under_way() const;  // throws on a thread that is not its rank's

  std::shared_ptr<Twin> twin_;  // null: moved away
  u64 number_;
  std::thread::id thread_ = std::this_thread::get_id();
  int unwinding_ = std::uncaught_exceptions();  // errors that were in flight when it was started
};

}  // namespace sordino
