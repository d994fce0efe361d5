#include "sordino/precond/grid_transfers.hpp"

#include <algorithm>

#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/linalg/single_operator.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/grid_steps.hpp"

namespace sordino {
namespace {

/// Of a level, what a transfer knows of its rows: who owns them, or those whose aggregates they are.
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

  HeldLayers(const Layers& level, int rank) {
    const i64 layer = rows_of_layer(level.cells), all = level.partition.n / layer;
    first = level.partition.first_row(rank) / layer, end = level.partition.first_row(rank + 1) / layer;
    const bool all_are_own = first == end || end - first == all;
    const auto other = [&](i64 number) {
      const bool is_outside = number < 0 || number == all;
      return all_are_own || (is_outside && !level.is_periodic) ? -1 : (number + all) % all;
    };
    before = other(first - 1), last = other(end);
  }
  /// The others' layers, increasing.
  std::vector<i64> ghosts() const {
    std::vector<i64> layers;
    for (i64 layer : {before, last})
      if (layer >= 0) layers.push_back(layer);
    std::sort(layers.begin(), layers.end());
    layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
    return layers;
  }
};

std::vector<i64> ghost_rows(const Layers& level, int rank) {
  const i64 layer = rows_of_layer(level.cells);
  std::vector<i64> rows;
  for (i64 number : HeldLayers(level, rank).ghosts())
    for (i64 i = 0; i < layer; i++) rows.push_back(number * layer + i);
  return rows;
}

/// Who owns a level's words, which of others a rank has ghosts of, and where those of rows lie among the numbers of vectors.
template <class V>
struct LayerWords {
  const Partition& partition;
  int rank;
  std::vector<i64> ghosts;

  LayerWords(const Layers& level, int of_rank)
      : partition(level.partition), rank(of_rank), ghosts(ghost_rows(level, of_rank)) {}
  i64 of(i64 row) const {
    return partition.rows(rank) + (std::lower_bound(ghosts.begin(), ghosts.end(), row) - ghosts.begin());
  }
  i64 held() const { return partition.rows(rank) + i64(ghosts.size()); }
  Exchange halo(Rank& on, int space) const { return make_halo(on, partition, on.space(space), ghosts); }
};

template <>
struct LayerWords<Singles> {
  int rank;
  PairedPlaces places;

  LayerWords(const Layers& level, int of_rank) : rank(of_rank), places(level.partition, of_rank, ghost_rows(level, of_rank)) {}
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

/// A space on which a vector has a word for each of the rank's rows of a level.
int space_of_rows(Rank& rank, const Partition& rows) { return rank.add_space(distributed_space(rows, rank.id())); }

/// Between levels whose aggregates' rows lie on the same rank, with vectors of such numbers.
template <class Fine, class Coarse>
class GridTransfer : public LevelTransfer {
 public:
  GridTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : fine_(fine),
        coarse_(coarse),
        shape_{shape_of<Fine>(Layers::owned(fine), rank.id()), shape_of<Coarse>(Layers::added(coarse), rank.id()), {}},
        fine_space_(fine_space),
        coarse_space_(coarse_space),
        rows_space_(numbers_in<Fine> == 1 ? fine_space : space_of_rows(rank, fine.partition)),
        to_coarse_(rank.vector("weights of a restriction", rows_space_)),
        from_coarse_(rank.vector("weights of an interpolation", rows_space_)),
        residuals_(rank, "r to be restricted", Layers::owned(fine), fine_space),
        corrections_(rank, "correction to be interpolated", Layers::added(coarse), coarse_space),
        split_fine_(split<Fine>(rank, Layers::owned(fine), fine_space, fine.step)),
        split_coarse_(split<Coarse>(rank, Layers::added(coarse), coarse_space, {1, 1, 1})) {
    for (std::size_t d = 0; d < 3; d++) shape_.pairs[d] = fine.step[d] == 2;
    GridTransfer::update_values(rank);
  }
  void update_values(Rank& rank) override {
    const i64 first = fine_.partition.first_row(rank.id());
    rank.write(to_coarse_, reinterpret_cast<const double*>(coarse_.to_this.data() + first));
    rank.write(from_coarse_, reinterpret_cast<const double*>(coarse_.from_this.data() + first));
  }
  Vec residual() const override { return residuals_.of_visit(visits_); }
  Vec correction() const override { return corrections_.of_visit(visits_); }
  void restrict_residual(Rank& rank, Vec residual, Vec to) const override {
    rank.run_split_over(coarse_space_, RestrictResidual<Fine, Coarse>{shape_, residual, to_coarse_, to}, split_coarse_);
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    rank.run_split_over(fine_space_, AddCorrection<Fine, Coarse>{shape_, e, from_coarse_, x, to}, split_fine_);
    visits_++;
  }

  static i64 words(const GridLevel& fine, const GridLevel& coarse, int rank) {
    const i64 weights = 2 * fine.partition.rows(rank);
    return weights + InTurns<Fine>::words(Layers::owned(fine), rank) + InTurns<Coarse>::words(Layers::added(coarse), rank);
  }

 protected:
  int coarse_space() const { return coarse_space_; }  // of what a rank adds up
  unsigned visit() const { return visits_; }

 private:
  /// Words whose rows need no others' layers, and those of the first and the last `step` layers, which may.
  template <class V>
  static Split split(Rank& rank, const Layers& level, int space, const Extents& step) {
    const HeldLayers held(level, rank.id());
    const i64 layer = rows_of_layer(level.cells), deep = step[std::size_t(last_direction(level.cells))];
    const i64 rows = (held.end - held.first) * layer;
    const auto may_need = [&](i64 row) {  // of the rank's
      const i64 at = row / layer;
      return (held.before >= 0 && at < deep) || (held.last >= 0 && at >= held.end - held.first - deep);
    };
    return CsrOperator::interior_and_boundary(rank.space(space), 0, 1, [&](i64 word) {
      const i64 first = numbers_in<V> * word, last = std::min(first + numbers_in<V>, rows) - 1;
      return may_need(first) || may_need(last);
    });
  }

  const GridLevel &fine_, &coarse_;
  TransferShape shape_;
  int fine_space_, coarse_space_, rows_space_;
  Vec to_coarse_, from_coarse_;
  InTurns<Fine> residuals_;
  InTurns<Coarse> corrections_;
  Split split_fine_, split_coarse_;
  mutable unsigned visits_ = 0;
};

/// Where other ranks own the coarse level than those whose aggregates its rows are: what is restricted goes there, and the
/// correction comes back before neighbours send each other their layers of it. What travels lies in two vectors by turns, for
/// who has sent the one knows that the other one has been read. The coarse level is in double.
template <class Fine>
class MovingTransfer final : public GridTransfer<Fine, double> {
  using Base = GridTransfer<Fine, double>;

 public:
  MovingTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : Base(rank, fine, coarse, fine_space, space_of_rows(rank, coarse.adding)),
        owners_space_(coarse_space),
        down_(coarse.adding, coarse.partition, rank.id()),
        up_(coarse.partition, coarse.adding, rank.id()) {
    for (Vec& r : r_) r = down_.operand(rank, "restricted residual", Base::coarse_space());
    for (Vec& e : e_) e = up_.operand(rank, "correction of others", owners_space_);
  }
  Vec correction() const override { return e_[this->visit() % 2]; }
  void restrict_residual(Rank& rank, Vec residual, Vec to) const override {
    const Vec r = r_[this->visit() % 2];
    Base::restrict_residual(rank, residual, r);
    rank.push_last(r);
    down_.apply(rank, owners_space_, r, to);
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    const Vec here = Base::correction();
    up_.apply(rank, Base::coarse_space(), e, here);
    rank.push_last(here);
    Base::add_correction(rank, here, x, to);
  }

  static i64 words(const GridLevel& fine, const GridLevel& coarse, int rank) {
    return Base::words(fine, coarse, rank) +
           2 * (coarse.adding.rows(rank) + RowMove::ghosts_of(coarse.adding, coarse.partition, rank) +
                coarse.partition.rows(rank) + RowMove::ghosts_of(coarse.partition, coarse.adding, rank));
  }

 private:
  int owners_space_;
  RowMove down_, up_;
  Vec r_[2], e_[2];
};

/// Which kind of a transfer there is between two levels: made(kind), for a pointer to that class.
template <class F>
decltype(auto) with_transfer(bool fine_single, bool coarse_single, bool moves, F&& made) {
  return with_numbers(fine_single, [&]<class Fine>(Fine) {
    if (moves) return made((MovingTransfer<Fine>*)nullptr);
    if constexpr (numbers_in<Fine> == 2)
      if (coarse_single) return made((GridTransfer<Fine, Singles>*)nullptr);
    return made((GridTransfer<Fine, double>*)nullptr);
  });
}

}  // namespace

std::unique_ptr<LevelTransfer> GridLevels::transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const {
  if (l >= last_grid()) return below_->transfer(rank, l - last_grid(), fine, coarse);
  const GridLevel &from = level(l), &to = level(l + 1);
  return with_transfer(fine.single, coarse.single, to.moves(), [&]<class T>(T*) -> std::unique_ptr<LevelTransfer> {
    return std::make_unique<T>(rank, from, to, fine.id, coarse.id);
  });
}

i64 GridLevels::transfer_bytes(int l, int rank, bool device) const {
  if (l >= last_grid()) return below_->transfer_bytes(l - last_grid(), rank, device);
  const auto is_single = [&](int of) { return precision(of) != CyclePrecision::full; };
  return with_transfer(is_single(l), is_single(l + 1), level(l + 1).moves(),
                       [&]<class T>(T*) { return i64(sizeof(double)) * T::words(level(l), level(l + 1), rank); });
}

}  // namespace sordino
