// Random numbers that are a function of a seed and of what they are for: the same on every machine, whatever was drawn before.
#pragma once
#include "sordino/base/types.hpp"

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

}  // namespace sordino::model
