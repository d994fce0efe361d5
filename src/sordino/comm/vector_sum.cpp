#include "sordino/comm/vector_sum.hpp"

namespace sordino {

VectorSum::VectorSum(Rank& rank, i32 words, const std::string& name, Fold by) {
  int P = rank.size(), me = rank.id();
  if (words < P)
    bad_argument("a sum of " + std::to_string(words) + " words over " + std::to_string(P) + " ranks: one a rank at least");
  auto first = [&](int q) { return i32(i64(words) * q / P); };
  std::vector<i32> lengths;
  for (int q = 0; q < P; q++) lengths.push_back(first(q + 1) - first(q));
  pieces_ = all_to_all_exchange(rank, lengths);
  segments_.everybody = true;
  for (int q = 0; q < P; q++)
    if (q != me)
      segments_.peers.push_back(
          {q, first(q), lengths[std::size_t(q)], lengths[std::size_t(me)], {}, first(me), first(me), me < q ? me : me - 1});
  RowRange own{first(me), first(me + 1)};
  segments_.producer.first = segments_.consumer.first = mine_.first = {own};
  for (RowRange r : {RowRange{0, own.begin}, RowRange{own.end, words}})
    if (r.size() > 0) segments_.consumer.rest.push_back(r);

  Space whole;
  whole.n_global = whole.rows = words;
  whole.replicated = true;
  set_tiles(whole, {0, words});
  whole_ = rank.add_space(whole);
  parts_ = rank.add_space(equal_parts(words, me, P));
  x_ = rank.vector(name + ", operand", parts_, &pieces_);
  y_ = rank.vector(name, whole_, &segments_);
  add_ = {{x_}, {y_}, by, own.begin, own.begin, own.size(), me, P, words};
}

void VectorSum::add(Rank& rank) const {
  Split all_wait{{}, mine_.first};
  rank.run_split_over(whole_, add_, all_wait);
  rank.push_last(y_);
}

}  // namespace sordino
