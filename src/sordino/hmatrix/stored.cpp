// An H-matrix that comes from a file, and goes into one; the files are somebody else's.
#include <algorithm>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/hmatrix.hpp"

namespace sordino::hmatrix {
namespace {

bool fits(const Block& b, i32 rank) {
  return rank == -1 || (b.admissible && rank >= 0 && rank <= std::min(b.rows.size(), b.columns.size()));
}

}  // namespace

template <class V>
HMatrixOf<V>::HMatrixOf(const double* points, i64 n, double eta, i32 leaf, const Outline& outline,
                        const std::function<void(V* to, i64 count)>& read) {
  take_trees(make_trees(points, n, {.eta = eta, .leaf = leaf}), 0);
  if (outline.ranks.size() != leaves_.size())
    bad_argument("there are ranks of " + std::to_string(outline.ranks.size()) + " blocks, and these points have " +
                 std::to_string(leaves_.size()));
  stores_.resize(1);
  for (std::size_t l = 0; l < leaves_.size(); l++) {
    LeafOf<V>& here = leaves_[l];
    if (!fits(here.block, outline.ranks[l]))
      bad_argument("block " + std::to_string(l) + " cannot have rank " + std::to_string(outline.ranks[l]));
    here.rank = outline.ranks[l];
    V* values = stores_[0].take(here.entries());
    read(values, here.entries());
    here.u = values;
    if (!here.is_dense()) here.v = values + i64(here.block.rows.size()) * here.rank;
  }
  const i64 nodes = statistics_.nodes;
  statistics_ = {.redone_blocks = outline.statistics.redone_blocks,
                 .norm = outline.statistics.norm,
                 .compression_error = outline.statistics.compression_error,
                 .error_of_estimate = outline.statistics.error_of_estimate,
                 .seconds = outline.statistics.seconds,
                 .phases = outline.statistics.phases};
  statistics_.nodes = nodes;
  count(0);
}

template <class V>
void HMatrixOf<V>::write(const std::function<void(const V* from, i64 count)>& tell) const {
  require_whole("writing");
  for (const LeafOf<V>& l : leaves_) tell(l.u, l.entries());  // v lies behind u
}

template <class V>
Outline HMatrixOf<V>::outline() const {
  Outline o{{}, statistics_};
  for (const LeafOf<V>& l : leaves_) o.ranks.push_back(l.rank);
  return o;
}

template <class V>
using Read = std::function<void(V* to, i64 count)>;
template HMatrixOf<double>::HMatrixOf(const double*, i64, double, i32, const Outline&, const Read<double>&);
template HMatrixOf<Number>::HMatrixOf(const double*, i64, double, i32, const Outline&, const Read<Number>&);
template void HMatrixOf<double>::write(const std::function<void(const double*, i64)>&) const;
template void HMatrixOf<Number>::write(const std::function<void(const Number*, i64)>&) const;
template Outline HMatrixOf<double>::outline() const;
template Outline HMatrixOf<Number>::outline() const;

}  // namespace sordino::hmatrix
