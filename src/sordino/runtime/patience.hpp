// How long somebody who looks now and then has seen no sign of life of anybody.
#pragma once
#include <algorithm>

#include "sordino/base/types.hpp"

namespace sordino {

class Patience {
 public:
  void begin(u64 beats, double now) {
    beats_ = beats;
    looked_ = now;
    calm_ = 0;
  }
  /// Seconds of looking in which nobody gave a sign. Who stays away between two looks does not wait meanwhile.
  double calm(u64 beats, double now) {
    constexpr double longest_look = 0.1;
    if (beats != beats_) begin(beats, now);
    calm_ += std::min(now - looked_, longest_look);
    looked_ = now;
    return calm_;
  }

 private:
  u64 beats_ = 0;
  double looked_ = 0, calm_ = 0;
};

}  // namespace sordino
