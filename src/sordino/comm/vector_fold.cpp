#include "sordino/comm/vector_fold.hpp"

#include <numeric>

namespace sordino {

VectorFold::VectorFold(Rank& rank, Exchange pieces, i32 operand_words, RowRange segment, Fold by, const std::string& name)
    : pieces_(std::move(pieces)) {
  int me = rank.id(), P = rank.size();
  for (auto& p : pieces_.peers)
    if (p.recv_count != segment.size())
      bad_argument(name + ": rank " + std::to_string(p.rank) + " sends " + std::to_string(p.recv_count) + " words to rank " +
                   std::to_string(me) + ", which folds " + std::to_string(segment.size()));
  operands_ = rank.add_space(equal_parts(operand_words, me, P));
  results_ = rank.add_space(equal_parts(segment.size(), me, P));
  x_ = rank.vector(name + ", operand", operands_, &pieces_);
  y_ = rank.vector(name, results_);
  fold_ = {{x_}, {y_}, by, 0, segment.begin, segment.size(), me, P, operand_words};
}

VectorFold reduce_scatter(Rank& rank, const std::vector<i32>& counts, Fold by, const std::string& name) {
  Exchange pieces = all_to_all_exchange(rank, counts);
  auto mine = counts.begin() + rank.id();
  i32 first = std::accumulate(counts.begin(), mine, 0);
  return VectorFold(rank, std::move(pieces), std::accumulate(mine, counts.end(), first), {first, first + *mine}, by, name);
}

VectorFold reduce_to(Rank& rank, i32 words, int root, Fold by, const std::string& name) {
  if (root < 0 || root >= rank.size())
    bad_argument(name + ": there is no rank " + std::to_string(root) + " of " + std::to_string(rank.size()));
  return VectorFold(rank, gather_at(rank, words, root), words, {0, rank.id() == root ? words : 0}, by, name);
}

}  // namespace sordino
