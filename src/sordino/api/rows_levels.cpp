#include "sordino/api/rows_levels.hpp"

#include "sordino/api/engines.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/precond/algebraic_levels.hpp"
#include "sordino/precond/shared_levels.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {

void require_levels_fit(const CsrView& rows, const Options& o, const Choice& c, Accord& accord,
                        const std::function<bool()>& is_symmetric) {
  const std::string what = "precond " + c.preconditioner;
  require_usual_cycle(o, what);
  require_any_preconditioner(*c.method);
  require_cycle_fits(o, c);
  if (!is_symmetric())
    bad_argument(what + " needs a symmetric positive definite matrix, and this one is not symmetric: use jacobi");
  accord.together([&] { require_positive_diagonal(rows, what); });
}

std::shared_ptr<MultigridLevels> levels_of_rows(const CsrView& rows, const Options& o, const Partition& partition,
                                                Engine& engine, Accord& accord) {
  Range range("aggregate the rows");
  if (accord.count() == 1) return std::make_shared<AlgebraicLevels>(rows, partition, gpus_of(engine).front());
  const double timeout = o.timeout;
  Together together{.across =
                        [&accord, timeout](const std::function<void(Rank&)>& act) {
                          host::HostEngine setup({.ranks = 1, .timeout = timeout}, accord.processes()->transport(1));
                          setup.run(act);
                        },
                    .all = [&accord](const std::function<void()>& act) { accord.together(act); }};
  const i64 alone = level_rows_of(o, engine.is_device());
  return std::make_shared<SharedLevels>(rows, partition, engine.first_rank(), engine.local_ranks(), alone, std::move(together));
}

}  // namespace sordino
