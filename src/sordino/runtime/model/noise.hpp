// Random numbers that are a function of a seed and of what they are for: the same on every machine, whatever was drawn before.
#pragma once
#include <algorithm>
#include <cmath>

#include "sordino/base/types.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino::model {

/// splitmix64's finisher: every bit of the result depends on every bit of x.
inline u64 mix(u64 x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// In [0, 1).
inline double fraction(u64 random) { return double(random >> 11) * 0x1p-53; }

/// The random delays of one rank, in the order in which its program asks for them. Ranks do not disturb each other's.
class Noise {
 public:
  Noise(u64 seed, int rank, double most) : key_(mix(seed ^ mix(u64(rank)))), most_(most) {}
  double delay() { return most_ > 0 ? most_ * fraction(mix(key_ + drawn_++)) : 0; }

 private:
  u64 key_;
  u64 drawn_ = 0;
  double most_;
};

/// Exponential numbers of mean 1, of one rank and for one purpose.
class Exponential {
 public:
  Exponential(u64 seed, int rank, u64 purpose) : key_(mix(mix(seed ^ mix(u64(rank))) ^ purpose)) {}
  double next() { return -std::log1p(-fraction(mix(key_ + drawn_++))); }

 private:
  u64 key_;
  u64 drawn_ = 0;
};

/// One rank's processor, which is taken away from time to time.
class Processor {
 public:
  Processor(const Machine& machine, int rank)
      : gaps_(machine.draws, rank, 1), spreads_(machine.draws, rank, 2), length_(machine.interruptions.seconds) {
    const Interruptions& i = machine.interruptions;
    if (i.share() == 0) return;
    mean_gap_ = 1 / i.hz - i.seconds;
    next_ = mean_gap_ * gaps_.next();
  }

  /// How many times its mean a command takes, of whose time the part `spread` is random.
  double pace(double spread) { return spread > 0 ? 1 - spread + spread * spreads_.next() : 1; }

  /// Seconds until work of `work` seconds that begins at `begin` is done. Calls come in the order of time.
  double taken(double begin, double work) {
    if (mean_gap_ == 0) return work;
    double now = begin;
    for (;;) {
      while (next_ + length_ <= now) draw();
      if (next_ >= now + work) return now + work - begin;
      work -= std::max(0.0, next_ - now);
      now = next_ + length_;
      draw();
    }
  }

 private:
  void draw() { next_ += length_ + mean_gap_ * gaps_.next(); }

  Exponential gaps_, spreads_;
  double length_ = 0, mean_gap_ = 0;  // 0: it is never taken away
  double next_ = 0;                   // when the next interruption begins
};

}  // namespace sordino::model
