// What a thread is doing, by name, for a profiler that looks: ranges that nest. Where nobody looks a range is one load.
#pragma once
#include <atomic>
#include <string>

namespace sordino {

/// Who shows ranges. Both are called on the thread that does the work; `name` lives for the call alone. Must not throw.
struct RangeSink {
  void (*begin)(const char* name);
  void (*end)();
};

/// Null: nobody. Builds with CUDA show ranges by NVTX (runtime/cuda/nvtx.cpp). Set it while nothing runs.
inline std::atomic<const RangeSink*> range_sink{nullptr};

class Range {
 public:
  explicit Range(const char* name) : sink_(range_sink.load(std::memory_order_relaxed)) {
    if (sink_) sink_->begin(name);
  }
  explicit Range(const std::string& name) : Range(name.c_str()) {}
  Range(const char* what, int first, int last) : sink_(range_sink.load(std::memory_order_relaxed)) {
    if (sink_) sink_->begin((std::string(what) + " " + std::to_string(first) + " to " + std::to_string(last - 1)).c_str());
  }
  ~Range() {
    if (sink_) sink_->end();
  }
  Range(const Range&) = delete;

 private:
  const RangeSink* sink_;
};

}  // namespace sordino
