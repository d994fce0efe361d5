// What a rank believes a collective to be. It travels with each message, so that ranks that disagree are told so.
#pragma once
#include <string>

#include "sordino/comm/all_reduce.hpp"
#include "sordino/runtime/scalar.hpp"

namespace sordino {

enum class Collective : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  all_reduce,
  gather,
  all_gather,
  scatter,
  all_to_all,
  reduce_scatter
};

struct Signature {
  Collective kind = Collective::barrier;
  Fold fold = Fold::sum;          // of reductions
  AllReduceOptions options = {};  // of all-reduces
  Scalar type = {};
  i32 root = 0;
  i64 count = 0;  // values a rank contributes to a reduction; elsewhere each part has its own length
  bool operator==(const Signature& other) const;
};

/// Such as "all_reduce (sum of 3 f64, ordered)".
std::string describe(const Signature& s);

/// One sentence about two ranks that disagree in their `number`th collective on a channel.
std::string disagreement(int a, const Signature& of_a, int b, const Signature& of_b, u32 number, int channel);

}  // namespace sordino
