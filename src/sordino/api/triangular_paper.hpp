// A triangle as paper 004's Algorithm 1 solves with it, for a TriangularSolver with that algorithm.
#pragma once
#include <optional>

#include "sordino/api/triangular.hpp"
#include "sordino/trsv/paper_factor.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino {

/// Its factor, and from the first transposed solve on the transposed one; block columns are dealt out to a grid of ranks.
template <class V>
class PaperTriangle {
 public:
  /// Blocks have at most options.width columns. Throws bad_argument for what is no triangle.
  PaperTriangle(const trsv::TriangleView<V>& L, const TriangularOptions& options);
  /// New values of the same pattern.
  void update(const trsv::TriangleView<V>& L);

  /// For solves with L, or with L^T and L^H; the transposed factor is made when it is first asked for. It stays where it is.
  const trsv::paper::Factor<V>& of(trsv::Direction direction);
  const trsv::paper::Layout& layout(trsv::Direction direction);
  /// Fills in what statistics say of a structure.
  void describe(TriangularStatistics& statistics) const;
  /// Of its supernodes, cut to the width.
  i32 block_columns() const { return forward_.factor.pattern().count(); }

 private:
  struct Way {
    trsv::paper::Factor<V> factor;
    trsv::paper::Layout layout;
  };
  trsv::Supernodes nodes_;
  i32 width_;
  trsv::paper::Grid grid_;
  Way forward_;
  std::optional<Way> backward_;
};

/// The ranks of a layout: P x Q as the options say, else as many as there are ranks, x 1.
trsv::paper::Grid paper_grid(const TriangularOptions& options);

}  // namespace sordino
