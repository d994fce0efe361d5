// Block-Jacobi incomplete factorization (001, section IV-B): the couplings between tiles are dropped, and the entries of each
// tile are factorized with their own pattern (ILU(0); IC(0) where M is to be symmetric).
//
// An application is one command over the rank's tiles: no halo, no reduction of its own. Of a symmetric M it returns (r,z) and
// (r,r) without reading a vector for them; other dot products of its result are a second command. With s entries a row in a
// triangle within tiles it moves 8 (2 s + 5) bytes a row: each factor twice, or L and U once each; the inverse pivots; the
// intermediate vector to and fro; r and z. 4 s + 1 operations, 4 s + 5 with sums. Memory: s + 2 words a row, or 2 s + 2 with U;
// cells beyond the ends of the grid, and on a device tiles up to a multiple of 32, count, too. Where ranks own boxes, whose
// rows are in another order, 8 bytes a row more are moved, and 4 held, and on the host of a device 8.
#pragma once
#include <memory>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/precond/tile_solve.hpp"

namespace sordino {

class BlockIlu final : public Operator {
 public:
  /// Of the rows that `space` has, which are whole tiles; M is symmetric if asked, with the lower triangles of A. Nothing is
  /// factorized yet. `width`: tiles that lie interleaved, 1 or tiles_of_warp.
  BlockIlu(Rank& rank, const CsrView& A, int space, const Tiling& tiling, bool symmetric, int width);
  ~BlockIlu() override;
  static int width_for(bool device) { return device ? tiles_of_warp : 1; }

  /// Factorizes, on the host's threads, and stores the factors where the engine computes. Returns the row of the matrix, or
  /// where ranks own boxes its cell, whose pivot is zero or, of a symmetric M, not positive, of several the first one; what is
  /// stored is then of no use. -1: there is none.
  i64 factorize(const CsrView& A);
  /// The same of a smoother, times `scale`; of a tile whose pivots are refused it is the diagonal.
  void factorize_all(const CsrView& A, double scale);

  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_); }

  /// What the engine would hold for the rows of a rank.
  static i64 bytes_of(const CsrView& A, i64 first_row, i32 rows, const Tiling& tiling, bool symmetric, bool device);

 private:
  struct Shape {  // of what is stored
    TiledRows rows;
    std::vector<i32> shifts;
    TileLayout layout;
    i64 cells;  // of all tiles, interleaved

    Shape(const CsrView& A, i64 first_row, i32 count, const Tiling& tiling, bool symmetric, int width);
    i64 bytes() const {
      return i64(sizeof(double)) * cells * (layout.slots + 1) + i64(sizeof(i32) * (shifts.size() + rows.rows.size()));
    }
  };
  int space_of_tiles(Rank& rank, i64 n, const Tiling& tiling) const;
  template <int W>
  void record(Rank& rank, Vec r, Vec z, const StartDots& epilogue) const;
  template <class T>
  T* reserve(std::size_t count);
  i32* uploaded(const std::vector<i32>& numbers);
  template <class Visit>
  void each_tile(const Visit& visit);
  void upload_factors();

  Rank& rank_;
  int space_, tile_space_, width_;
  bool symmetric_;
  Shape shape_;
  double* factor_;
  double* work_;
  i32 *shifts_, *rows_;
  struct Block {
    void* pointer;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::unique_ptr<double[]> staging_;  // factors for a device; kept, so that updates allocate nothing
};

}  // namespace sordino
