// Spans of time on queues, for the report's timeline and for Perfetto.
#pragma once
#include <mutex>
#include <string>
#include <vector>

namespace sordino {

/// `halo` and `reduction` are communication under way, beside what the queue does meanwhile: from where this rank sends or
/// starts until what it waits for has come; on the host engine, which cannot see that, until it is taken. Waits are the exposed
/// part.
enum class SpanKind { compute, halo_wait, reduction_wait, launch, halo, reduction };
const char* name(SpanKind kind);

struct Span {
  int rank, queue;
  SpanKind kind;
  std::string name;
  double start, end;  // seconds on the engine's clock
};

class Trace {
 public:
  bool on = false;
  std::size_t limit = 40000;  // spans kept; a long solve shows its beginning

  void add(int rank, int queue, SpanKind kind, const std::string& name, double start, double end) {
    if (!on || end <= start) return;
    std::lock_guard lock(mutex_);
    if (spans_.size() < limit) spans_.push_back({rank, queue, kind, name, start, end});
  }
  std::vector<Span> take() {
    std::lock_guard lock(mutex_);
    return std::move(spans_);
  }

 private:
  std::mutex mutex_;
  std::vector<Span> spans_;
};

inline const char* name(SpanKind kind) {
  switch (kind) {
    case SpanKind::compute: return "compute";
    case SpanKind::halo_wait: return "halo wait";
    case SpanKind::reduction_wait: return "reduction wait";
    case SpanKind::launch: return "launch";
    case SpanKind::halo: return "halo";
    case SpanKind::reduction: return "reduction";
  }
  return "unknown";
}

}  // namespace sordino
