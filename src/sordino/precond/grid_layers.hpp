// The layers of a grid's level that a rank holds: its own, and one of each neighbour's, in vectors of doubles or, two rows in a
// word, of single precision. Ghosts are whole layers, whatever entries a matrix has.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/ghost_ranges.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/linalg/single_operator.hpp"
#include "sordino/precond/grid_levels.hpp"

namespace sordino {

/// Of a level, who owns its rows, or adds them up.
struct Layers {
  const Extents& cells;
  const Partition& partition;
  bool is_periodic;

  static Layers owned(const GridLevel& level) { return {level.cells, level.partition, level.is_periodic}; }
  static Layers added(const GridLevel& level) { return {level.cells, level.adding, level.is_periodic}; }
};

/// What a rank holds of a level's vectors: whole layers, and those of others before and behind them.
struct HeldLayers {
  i64 first, end;            // in layers
  i64 before = 0, last = 0;  // numbers of others' layers, -1: none

  HeldLayers(const Layers& level, int rank);
  /// The others' layers, increasing.
  std::vector<i64> ghosts() const;
};

GhostRanges ghost_rows(const Layers& level, int rank);

/// Who owns a level's words, which of others a rank has ghosts of, and where those of rows lie among the numbers of vectors.
template <class V>
struct LayerWords {
  const Partition& partition;
  int rank;
  GhostRanges ghosts;

  LayerWords(const Layers& level, int of_rank)
      : partition(level.partition), rank(of_rank), ghosts(ghost_rows(level, of_rank)) {}
  i64 of(i64 row) const { return partition.rows(rank) + ghosts.place(row); }
  i64 held() const { return partition.rows(rank) + ghosts.count(); }
  Exchange halo(Rank& on, int space) const { return make_halo(on, partition, on.space(space), ghosts); }
};

template <>
struct LayerWords<Singles> {
  int rank;
  PairedPlaces places;

  LayerWords(const Layers& level, int of_rank)
      : rank(of_rank), places(level.partition, of_rank, ghost_rows(level, of_rank).rows()) {}
  i64 of(i64 row) const { return places.of(row); }
  i64 held() const { return places.words().rows(rank) + i64(places.ghosts().size()); }
  Exchange halo(Rank& on, int space) const { return make_halo(on, places.words(), on.space(space), places.ghosts()); }
};

/// Of vectors of V.
template <class V>
LayerShape shape_of(const Layers& level, int rank) {
  LayerShape shape{};
  const HeldLayers held(level, rank);
  const LayerWords<V> words(level, rank);
  const auto row_of = [&](i64 other, i64 own) { return other < 0 ? own : words.of(other * rows_of_layer(level.cells)); };
  const std::size_t last = std::size_t(last_direction(level.cells));
  i64 stride = 1;
  for (std::size_t d = 0; d < 3; d++) {
    const i64 cells = d == last ? held.end - held.first : level.cells[d];
    shape.cells[d] = i32(cells), shape.stride[d] = i32(stride);
    shape.before[d] = i32(row_of(d == last ? held.before : -1, (cells - 1) * stride));
    shape.behind[d] = i32(row_of(d == last ? held.last : -1, 0));
    stride *= std::max<i64>(cells, 1);  // of a rank without layers: nobody divides by 0
  }
  return shape;
}

/// Words of a rank whose rows need no others' layers, and those of the first and the last `deep` layers, which may.
template <class V>
Split split_of_layers(Rank& rank, const Layers& level, int space, i64 deep) {
  const HeldLayers held(level, rank.id());
  const i64 layer = rows_of_layer(level.cells), layers = held.end - held.first, rows = layers * layer;
  const i64 low = held.before >= 0 ? deep * layer : 0, high = held.last >= 0 ? (layers - deep) * layer : rows;
  constexpr i64 numbers = numbers_in<V>;  // a word's rows; of the last one there may be fewer
  return CsrOperator::split_at(rank.space(space), (low + numbers - 1) / numbers, high == rows ? rows : high / numbers);
}

/// Vectors of a level in turn, of V, with the ghosts of whole layers.
template <class V>
class InTurns {
 public:
  InTurns(Rank& rank, const char* name, const Layers& level, int space)
      : exchange_(LayerWords<V>(level, rank.id()).halo(rank, space)) {
    for (int k = 0; k < count(rank.size()); k++) vectors_[k] = rank.vector(name, space, &exchange_);
  }
  Vec of_visit(unsigned number) const { return vectors_[vectors_[1].id < 0 ? 0 : number % 2]; }
  static int count(int ranks) { return ranks > 1 ? 2 : 1; }
  /// Of one rank, in all.
  static i64 words(const Layers& level, int rank) { return count(level.partition.ranks()) * LayerWords<V>(level, rank).held(); }

 private:
  Exchange exchange_;
  Vec vectors_[2];
};

}  // namespace sordino
