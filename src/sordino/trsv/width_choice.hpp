// How wide the blocks of a factor are to be, by what a solve is predicted to take on a described machine, from its structure
// alone.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "sordino/trsv/prediction.hpp"

namespace sordino::trsv {

/// That are compared. Wider blocks have fewer hops, but their way back is slower than predicted (docs/adr/0040).
inline constexpr std::array<i32, 4> widths_to_try{32, 64, 128, 256};

/// Of the time that the width taken so far is predicted to take, a wider one must save so much: inverting wide blocks costs
/// more, and loses more digits where they are ill-conditioned.
constexpr double worth_wider_blocks = 0.05;

/// Where no machine is described. On a host wider blocks were not seen to be faster, and setup grows with them
/// (docs/triangular_solves.md, "Widths").
inline constexpr i32 width_of_hosts = 128;

struct WidthPrediction {
  i32 width = 0;
  double seconds = 0;  // L x = b, and L^T x = b
};

struct WidthChoice {
  std::vector<WidthPrediction> predicted;  // in ascending order
  std::size_t best = 0;                    // the last one that saves enough of what the one before it that was taken takes
  bool too_few_blocks = false;             // wider ones would have fewer than there are ranks

  i32 width() const { return predicted[best].width; }
  /// "width 128: both ways are predicted to take 1.2 ms, 2.1 ms with 32, 1.5 ms with 64, 1.18 ms with 256"; and why wider
  /// ones were not compared, where it is for want of blocks.
  std::string said() const;
};

/// For one right-hand side, and for options.ranks. Left out are widths behind the first one that cuts no supernode, and those
/// of fewer blocks than ranks, but for the narrowest. Cost: for each width that is compared blocks, the plans of both ways, and
/// their tasks, needs and messages times a logarithm.
WidthChoice choose_width(const Supernodes& nodes, i64 value_bytes, const Machine& machine, const PlanOptions& options = {});

/// "1.77 ms"
std::string milliseconds(double seconds);

}  // namespace sordino::trsv
