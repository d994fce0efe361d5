// The same patterns between MPI processes that own one rank, two, or different numbers of them.
#include "mpi_world.hpp"
#include "sordino/api/engines.hpp"
#include "unit/comm/traffic_checks.hpp"

using namespace sordino;

TEST("messages and collectives on vectors reach ranks of other processes") {
  for (int ranks : {1, 2, 1 + mpi_world::process() % 2}) {
    NOTE(ranks, " ranks in this process");
    Options o;
    o.engine = "host";
    o.ranks = ranks;
    o.timeout = 30;
    auto choice = make_engine(o, {});
    traffic::ring(*choice.engine);
    traffic::collectives(*choice.engine);
    traffic::sums(*choice.engine);
    traffic::folds(*choice.engine);
    traffic::copies(*choice.engine);
  }
}
