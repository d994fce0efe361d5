// Who has what of a supernodal triangle in paper 004 (Ding et al. 2021, sections 2 and 4): blocks that are dealt out to a grid
// of ranks, a binary tree for each block column's broadcast and for each block row's reduction, and how much a rank must await.
#pragma once
#include <array>
#include <vector>

#include "sordino/trsv/supernodes.hpp"

namespace sordino::trsv::paper {

/// Blocks of a lower triangle that is cut alike by rows and by columns: L(I, K) is the dense block of block row I and block
/// column K, and stores those rows of I that have an entry in K.
struct Pattern {
  std::vector<i32> column;     // [count + 1] block column K has columns column[K], ..., column[K + 1] - 1
  std::vector<i64> begin;      // [count + 1] block column K has blocks begin[K], ...; the first one is L(K, K)
  std::vector<i32> row;        // [blocks] block row, increasing within a block column
  std::vector<i32> height;     // [blocks] rows that are stored
  std::vector<i64> row_begin;  // [blocks + 1] of `rows`; empty where only sizes are known
  std::vector<i32> rows;       // numbers of the stored rows, counted within their block row

  i32 count() const { return i32(column.size()) - 1; }
  i64 blocks() const { return i64(row.size()); }
  i64 n() const { return column.back(); }
  i32 width(i32 K) const { return column[std::size_t(K) + 1] - column[std::size_t(K)]; }
  /// That the blocks store; those on the diagonal are whole squares.
  i64 values() const;
};

/// A supernode with more columns is cut into several block columns, the last one with what is left. Cost: the rows of the
/// supernodes, times the pieces of each. Throws bad_argument for most_columns < 1.
Pattern pattern_of(const Supernodes& nodes, i32 most_columns = 128);

/// That of the transposed system, rows and columns in the opposite order, which makes it a lower one. Its blocks store all rows
/// of their block row. `from`: of each of its blocks which block of `pattern` it is. Cost: blocks and their rows.
Pattern transposed(const Pattern& pattern, std::vector<i64>* from = nullptr);

/// P x Q ranks: block (I, K) belongs to rank (I mod P) Q + K mod Q. With P x 1 a block column is shared by all, and x is
/// broadcast; with 1 x P a block row is, and sums are reduced.
struct Grid {
  int rows = 1, columns = 1;
  int ranks() const { return rows * columns; }
  i32 owner(i32 I, i32 K) const { return (I % rows) * columns + K % columns; }
};

/// Binary trees of ranks: those of tree t are ranks[begin[t]], ..., and the first one is its root. At place k > 0 stands a
/// child of the one at place (k - 1) / 2.
struct Trees {
  std::vector<i64> begin;  // [trees + 1]
  std::vector<i32> ranks;

  i32 size(i32 t) const { return i32(begin[std::size_t(t) + 1] - begin[std::size_t(t)]); }
  i32 at(i32 t, i32 place) const { return place < size(t) ? ranks[std::size_t(begin[std::size_t(t)] + place)] : -1; }
  /// -1: the rank is not in the tree. Cost: the ranks of the tree.
  i32 place(i32 t, i32 rank) const;
  i32 parent(i32 t, i32 rank) const;
  /// -1: there is none.
  std::array<i32, 2> children(i32 t, i32 rank) const;
};

/// What one rank has, and what it awaits.
struct Part {
  std::vector<i32> columns;       // block columns of which it has a block, increasing
  std::vector<i64> begin;         // [columns + 1] of `blocks`
  std::vector<i64> blocks;        // below the diagonal, as the pattern numbers them
  std::vector<i32> fmod;          // [count] of block row I: its blocks (I, K), K < I, and its children in I's reduction tree
  std::vector<char> column_mask;  // [count] M_c: 0 where x(K) will come, 1 elsewhere
  std::vector<char> row_mask;     // [2 count] M_r: 0 where a sum will come into slot 2 I + c, from child c
};

/// Memory: blocks, and 7 B for each rank and block column.
struct Layout {
  Grid grid;
  Trees broadcasts, reductions;  // of block columns, of block rows; their roots own the diagonal blocks
  std::vector<Part> parts;       // [ranks]
};

/// Throws bad_argument for a grid without ranks.
Layout lay_out(const Pattern& pattern, const Grid& grid);

/// Of one solve with one right-hand side.
struct Traffic {
  i64 broadcasts = 0, reductions = 0;  // messages
  i64 broadcast_bytes = 0, reduction_bytes = 0;
};
Traffic traffic_of(const Pattern& pattern, const Layout& layout, i64 value_bytes);

/// The mask's entries dealt out to so many threads of the kernel WAIT, so that each has as many zeros as the others or one less
/// (Fig. 2): thread t looks at entries [t], ..., [t + 1] - 1. [threads + 1]
std::vector<i32> shares_of(const std::vector<char>& mask, int threads);

}  // namespace sordino::trsv::paper
