#include "sordino/precond/grid_transfers.hpp"

#include "sordino/precond/grid_layers.hpp"
#include "sordino/precond/grid_levels.hpp"

namespace sordino {
namespace {

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
        split_fine_(split_of_layers<Fine>(rank, Layers::owned(fine), fine_space, deep_of(fine))),
        split_coarse_(split_of_layers<Coarse>(rank, Layers::added(coarse), coarse_space, 1)) {
    for (std::size_t d = 0; d < 3; d++) shape_.pairs[d] = fine.step[d] == 2;
    GridTransfer::update_values(rank);
  }
  void update_values(Rank& rank) override {
    const i64 first = fine_.partition.first_row(rank.id());
    rank.write(to_coarse_, reinterpret_cast<const double*>(coarse_.restriction(first)));
    rank.write(from_coarse_, reinterpret_cast<const double*>(coarse_.interpolation(first)));
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
  /// Layers of an aggregate.
  static i64 deep_of(const GridLevel& level) { return level.step[std::size_t(last_direction(level.cells))]; }

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
