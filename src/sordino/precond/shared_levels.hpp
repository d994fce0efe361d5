// The levels of algebraic multigrid of a matrix of which each process has its own rows, and no process all.
//
// Ranks pair their own rows by the rules of aggregation.hpp, so that transfers send nothing and aggregates are those that one
// process with all rows would make for these ranks, to the bit. Neighbours tell each other the numbers of aggregates, and each
// process adds up the coarse rows that are its own. Levels of at most `alone` rows live on rank 0: its process and all others
// have them whole, and make what is below, each for itself, as AlgebraicLevels. So they do, with rows where they are, where
// ranks' own pairs would leave more than half of a level, as of rows in random order, unless it has more than a million of
// them.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/precond/algebraic_levels.hpp"
#include "sordino/precond/local_rows.hpp"
#include "sordino/precond/spectral_estimate.hpp"

namespace sordino {

/// What processes do together while they set up.
struct Together {
  /// Collective: act(rank) in each process, of an engine with a rank of each, in their order.
  std::function<void(const std::function<void(Rank&)>&)> across;
  /// Collective: act() in each process; what one throws, all throw.
  std::function<void(const std::function<void()>&)> all;
};

class SharedLevels final : public MultigridLevels {
 public:
  static constexpr i64 usual_most = i64{1} << 20;  // rows of a level that each process may have whole

  /// Collective. A holds this process's rows, symmetric with a positive diagonal, which `first` deals out to ranks,
  /// `first_rank` and those behind it. Throws bad_argument, in all processes the same, as AlgebraicLevels, and where a level
  /// that is too large to be gathered cannot be coarsened. Cost: as aggregated_levels() of the own rows; twice a level a number
  /// of each row that neighbours touch; estimated_bound(); two all-gathers of a number, and at last one of a level's rows.
  /// Memory: beside the levels 4 bytes an entry of A.
  SharedLevels(const CsrView& A, const Partition& first, int first_rank, int ranks, i64 alone, Together together,
               i64 most_gathered = usual_most);
  /// Collective. The same aggregates, for new values in place of A's.
  void update(const CsrView& A) override;

  int count() const override { return shared() + rest_->count(); }
  CsrView matrix(int l) const override;
  const Partition& partition(int l) const override {
    return l < shared() ? level(l).partition : rest_->partition(l - shared());
  }
  const Diagonals& diagonals(int) const override { return by_rows_; }
  double bound(int l) const override { return l < shared() ? level(l).bound : rest_->bound(l - shared()); }
  double interval() const override { return rest_->interval(); }
  int degree() const override { return rest_->degree(); }
  const CsrMatrix& last_inverse() const override { return rest_->last_inverse(); }
  std::unique_ptr<LevelTransfer> transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const override;
  i64 transfer_bytes(int l, int rank, bool device) const override;

 private:
  /// One whose rows stay with those who have them, or the last of these, which is gathered.
  struct Level {
    LocalRows rows = {};
    Partition partition = {};         // of ranks
    std::vector<double> values = {};  // of the first level empty
    std::vector<i32> columns = {};    // in the whole's numbers, likewise
    MapMatrix P = {}, R = {};         // to the next one, as both number their rows here; of the last one empty
    double bound = 0;
  };
  const Level& level(int l) const { return levels_[std::size_t(l)]; }
  int shared() const { return int(levels_.size()) - 1; }
  const double* values(int l) const { return l == 0 ? given_.values : level(l).values.data(); }
  CsrView local(int l) const { return level(l).rows.view(values(l)); }
  LevelMaps maps(int l) const;
  bool ends_with(i64 rows) const;
  void make(Rank& rank, const Partition& first, int first_rank, int ranks);
  bool add_level(Rank& rank, std::vector<i64>& cuts);
  double bound_of(Rank& rank, int l) const;
  void gather(Rank& rank);
  void gather_values(Rank& rank);
  void look(Rank& rank);

  CsrView given_;
  i64 alone_, most_gathered_;
  Together together_;
  std::vector<Level> levels_;
  std::optional<Error> refused_;
  bool closed_ = false;
  bool moves_ = false;  // whether the last of the levels lives on rank 0
  Partition owners_;    // of the last of the levels
  CsrMatrix whole_;     // the last of them
  std::unique_ptr<AlgebraicLevels> rest_;
  Diagonals by_rows_;
};

}  // namespace sordino
