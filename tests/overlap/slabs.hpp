// A problem for tests of engines: a variable 5-point operator on a grid, cut into slabs of whole lines. Everything is
// synthesised locally, so thousands of ranks cost nothing to set up.
#pragma once
#include <algorithm>

#include "sordino/runtime/rank.hpp"

namespace slabs {

using namespace sordino;

struct Shape {
  i32 nx = 16;                   // rows of the matrix in a line of the grid
  i32 blocks = 12;               // of the whole grid; sums are taken over them, so ranks own whole ones
  i32 lines = 4;                 // of a block
  bool all_need_ghosts = false;  // no row is multiplied before the halo is there
  double matrix_bytes = 60;      // an operator's own traffic a row

  i64 rows() const { return i64(nx) * blocks * lines; }
};

/// A rank's slab: its rows, and the line it trades with the slab below and above.
class Slab {
 public:
  Slab(Rank& rank, const Shape& shape) : shape_(shape), ranks_(rank.size()) {
    Space s;
    s.n_global = shape.rows();
    s.n_blocks = shape.blocks;
    s.first_block = first_block(rank.id());
    s.first_row = first_row_ = i64(s.first_block) * shape.lines * shape.nx;
    s.rows = rows_ = rows_of(rank.id());
    std::vector<i32> block_rows;
    for (i32 row = 0; row <= rows_; row += shape.lines * shape.nx) block_rows.push_back(row);
    set_tiles(s, block_rows, rank.engine().arithmetic() ? shape.nx : rows_);  // a tile is a line
    space = rank.add_space(std::move(s));
    bool below = rank.id() > 0, above = rank.id() + 1 < ranks_;
    if (below) low_ = meet(rank.id() - 1, 0, rank.id() - 1 > 0);
    if (above) high_ = meet(rank.id() + 1, rows_ - shape.nx, false);
    split(below, above);
  }

  i32 rows() const { return rows_; }
  i64 first_row() const { return first_row_; }
  Vec operand(Rank& rank, const char* name) const { return rank.vector(name, space, &exchange); }
  Vec vector(Rank& rank, const char* name) const { return rank.vector(name, space); }
  double diagonal(i64 row) const { return 4.1 + 0.3 * double(row % 7); }
  /// Fills a vector from a function of the global row.
  template <class G>
  void fill(Rank& rank, Vec v, G value) const {
    if (!rank.engine().arithmetic()) return;
    std::vector<double> host;
    for (i32 i = 0; i < rows_; i++) host.push_back(value(first_row_ + i));
    rank.write(v, host.data());
  }
  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const;

  int space = -1;
  Exchange exchange;

 private:
  i32 first_block(int rank) const { return i32(i64(shape_.blocks) * rank / ranks_); }
  i32 rows_of(int rank) const { return (first_block(rank + 1) - first_block(rank)) * shape_.lines * shape_.nx; }
  /// Returns the storage row of the line that comes from there. `place`: which of its peers I am.
  i32 meet(int rank, i32 first_sent, int place) {
    ExchangePeer p;
    p.rank = rank;
    p.recv_first = rows_ + exchange.ghosts;
    p.recv_count = p.send_count = shape_.nx;
    p.send_first = first_sent;
    p.remote_index = place;
    p.remote_first = rows_of(rank) + place * shape_.nx;
    exchange.peers.push_back(p);
    exchange.ghosts += shape_.nx;
    return p.recv_first;
  }
  void split(bool below, bool above) {
    auto &edge = exchange.producer.first, &inner = exchange.producer.rest;
    i32 begin = below ? shape_.nx : 0, end = above ? rows_ - shape_.nx : rows_;
    if (end < begin) begin = end = rows_;  // a slab of one line between two others
    if (begin > 0) edge.push_back({0, begin});
    if (end < rows_) edge.push_back({end, rows_});
    if (begin < end) inner.push_back({begin, end});
    exchange.consumer = {inner, edge};
    if (shape_.all_need_ghosts && !exchange.peers.empty()) exchange.consumer = {{}, {{0, rows_}}};
  }

  Shape shape_;
  int ranks_;
  i32 rows_ = 0;
  i64 first_row_ = 0;
  i32 low_ = -1, high_ = -1;  // storage rows of the ghost lines
};

struct FivePoint {
  static constexpr int lanes = 1;
  static constexpr const char* name = "Apply";
  Ghost x;
  Out y;
  i32 nx, rows, low, high;
  i64 first_row;
  double bytes;

  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  SORDINO_HD double sum(i32 i, int, int) const {
    i32 column = i % nx;
    double s = (4.1 + 0.3 * double((first_row + i) % 7)) * x[i];
    if (i >= nx)
      s -= x[i - nx];
    else if (low >= 0)
      s -= x[low + i];
    if (column > 0) s -= x[i - 1];
    if (column < nx - 1) s -= x[i + 1];
    if (i < rows - nx)
      s -= x[i + nx];
    else if (high >= 0)
      s -= x[high + i - (rows - nx)];
    return s;
  }
  SORDINO_HD void store(i32 i, double value) const { y[i] = value; }
  Cost cost() const { return {bytes * rows, 9.0 * rows}; }
};

inline void Slab::apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue) const {
  FivePoint f{x, y, shape_.nx, rows_, low_, high_, first_row_, shape_.matrix_bytes};
  rank.apply_rows(f, exchange.peers.empty() ? nullptr : &exchange.consumer, y, epilogue);
}

}  // namespace slabs
