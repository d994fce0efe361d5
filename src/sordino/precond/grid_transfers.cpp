#include "sordino/precond/grid_transfers.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/linalg/single_operator.hpp"
#include "sordino/precond/grid_levels.hpp"

namespace sordino {
namespace {

/// Of a rank's layers of two levels.
TransferShape shape_of(const GridLevel& fine, const GridLevel& coarse, int rank) {
  TransferShape shape{};
  const auto fill = [&](const GridLevel& level, i32(&to)[3]) {
    i64 rows = level.partition.rows(rank);
    for (std::size_t d = 0; d < 3; d++) {
      to[d] = i32(std::min(level.cells[d], rows));
      rows /= std::max<i64>(to[d], 1);  // a rank without layers has none of cells either
    }
  };
  fill(fine, shape.fine);
  fill(coarse, shape.coarse);
  for (std::size_t d = 0; d < 3; d++) shape.step[d] = i32(fine.step[d]);
  return shape;
}

template <class Fine, class Coarse>
class GridTransfer final : public LevelTransfer {
 public:
  GridTransfer(Rank& rank, const GridLevel& fine, const GridLevel& coarse, int fine_space, int coarse_space)
      : fine_(fine),
        shape_(shape_of(fine, coarse, rank.id())),
        coarse_space_(coarse_space),
        takes_part_(rank.vector("takes part", fine_space)) {
    update_values(rank);
  }
  void update_values(Rank& rank) override {
    const double* rows = fine_.takes_part.data() + fine_.partition.first_row(rank.id());
    rank.write(takes_part_, numbers_in<Fine> == 1 ? rows : packed(rows, fine_.partition.rows(rank.id())).data());
  }
  void restrict_residual(Rank& rank, Vec b, Vec Ax, Vec to) const override {
    rank.run_over(coarse_space_, RestrictResidual<Fine, Coarse>{shape_, b, Ax, takes_part_, to});
  }
  void add_correction(Rank& rank, Vec e, Vec x, Vec to) const override {
    rank.run(AddCorrection<Fine, Coarse>{shape_, e, takes_part_, x, to});
  }

 private:
  const GridLevel& fine_;
  TransferShape shape_;
  int coarse_space_;
  Vec takes_part_;
};

}  // namespace

std::unique_ptr<LevelTransfer> GridLevels::transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const {
  return with_numbers(coarse.single, [&]<class Coarse>(Coarse) -> std::unique_ptr<LevelTransfer> {
    if (fine.single) return std::make_unique<GridTransfer<Singles, Coarse>>(rank, level(l), level(l + 1), fine.id, coarse.id);
    if constexpr (numbers_in<Coarse> == 1)
      return std::make_unique<GridTransfer<double, double>>(rank, level(l), level(l + 1), fine.id, coarse.id);
    bad_argument("a level in single precision below one in double precision");
  });
}

i64 GridLevels::transfer_bytes(int l, int rank, bool) const {
  const i64 rows = partition(l).rows(rank);
  return i64(sizeof(double)) * (precision_ == CyclePrecision::full ? rows : words_for(rows));
}

}  // namespace sordino
