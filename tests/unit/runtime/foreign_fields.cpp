// Commands over one space that touch vectors of others: sites with three words each, and faces that are packed before they
// travel.
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "unit/runtime/chain_program.hpp"

using namespace sordino;

TEST("a command runs over sites, reads words of other spaces and ghosts of packed faces, on host and model") {
  for (i32 sites : {12, 40, 1000})
    for (int ranks : {1, 2, 3, 4}) {
      NOTE(sites, " sites, ", ranks, " ranks");
      chain::Chain expected = chain::serial<3>(sites);
      for (bool ahead : {false, true}) {
        NOTE(ahead ? "sent by the command that awaits" : "sent by a command of its own");
        host::HostEngine host({.ranks = ranks});
        chain::compare(chain::hopped<3>(host, sites, ahead), expected);
        for (u64 seed : {0, 5}) {
          model::Options o;
          o.ranks = ranks;
          o.seed = seed;
          model::ModelEngine model(o);
          chain::compare(chain::hopped<3>(model, sites, ahead), expected);
        }
      }
    }
}
