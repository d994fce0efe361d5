// A periodic four-dimensional lattice, cut into equal boxes, one a rank.
//
// Sites are numbered by parity (checkerboard): a site is even if x + y + z + t is. Boxes have even extents, so they begin on
// even coordinates, and a site's parity in its box is its parity in the lattice. Sites 2k and 2k+1 of the lexicographic order
// (x fastest) differ in x alone, so that one is even and one odd: k is the number of each among the sites of its parity.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "sordino/lattice/checkerboard.hpp"

namespace sordino::lattice {

using Coords = std::array<i32, 4>;  // x, y, z, t

inline constexpr const char* dimension_name[4] = {"x", "y", "z", "t"};

struct Lattice {
  Coords extent{};           // sites
  bool antiperiodic = true;  // spinors change sign where they wrap around in t; periodic in space always

  i64 volume() const { return i64(extent[0]) * extent[1] * extent[2] * extent[3]; }
  /// Number of a site in lexicographic order, x fastest.
  i64 number(const Coords& x) const { return x[0] + extent[0] * (x[1] + extent[1] * (x[2] + i64(extent[2]) * x[3])); }
};

/// "8x8x8x16"
std::string to_string(const Coords& extents);

/// Ranks in each dimension whose boxes have the least surface, and even extents; of equals, that which cuts t, then z, y, x.
/// Throws bad_argument in one sentence if there is none. Cost: a few divisions for each way to factor `ranks`.
Coords choose_grid(const Lattice& lattice, int ranks);
/// The most ranks, up to `most`, into whose boxes the lattice can be cut.
int most_ranks(const Lattice& lattice, int most);

/// The part of a rank. x is fastest in the numbering of ranks, too.
class Box {
 public:
  /// Throws bad_argument in one sentence if the grid does not cut the lattice into boxes of even extents.
  Box(const Lattice& lattice, const Coords& grid, int rank);

  int rank() const { return rank_; }
  const Lattice& lattice() const { return lattice_; }
  const Coords& grid() const { return grid_; }
  const Coords& origin() const { return origin_; }  // its first site in the lattice
  const Checkerboard& sites() const { return sites_; }
  bool is_cut(int mu) const { return grid_[mu] > 1; }  // its neighbours in this dimension are other ranks
  int neighbour(int mu, int step) const;               // rank one box ahead (+1) or behind (-1)
  /// Sites of one parity on a face normal to mu.
  i32 face(int mu) const { return 2 * sites_.half / sites_.extent[mu] / 2; }
  /// -1 where the links in t of the box's last time slice carry the sign of the antiperiodic boundary, else 1.
  int last_sign() const { return lattice_.antiperiodic && origin_[3] + sites_.extent[3] == lattice_.extent[3] ? -1 : 1; }
  /// A site's coordinates in the lattice.
  Coords global(const i32 (&x)[4]) const {
    return {origin_[0] + x[0], origin_[1] + x[1], origin_[2] + x[2], origin_[3] + x[3]};
  }
  /// Sites of one parity whose neighbours all belong to this rank, and the others, as ranges of their numbers.
  struct Parts {
    std::vector<RowRange> interior, surface;
  };
  Parts parts(int parity) const;

 private:
  int rank_;
  Lattice lattice_;
  Coords grid_, place_, origin_;
  Checkerboard sites_;
};

}  // namespace sordino::lattice
