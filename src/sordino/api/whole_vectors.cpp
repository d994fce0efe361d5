#include "sordino/api/whole_vectors.hpp"

#include "sordino/base/error.hpp"
#include "sordino/linalg/group_gather.hpp"
#include "sordino/solvers/bicgstab_scalars.hpp"
#include "sordino/solvers/pipe1.hpp"
#include "sordino/solvers/whole_bicgstab.hpp"

namespace sordino {
namespace {

const MethodEntry& bicgstab_on_whole_vectors(const MethodEntry& chosen, const System& s, const Options& o) {
  const std::string named = "vectors '" + o.vectors + "'";
  if (!s.hmatrix) bad_argument(named + " is of real H-matrices alone: leave it at auto");
  if (chosen.name != bicgstab::Bicgstab::name || o.solver != chosen.name)
    bad_argument(named + " is of solver bicgstab, which has to be said" +
                 (chosen.replicated ? ": " + chosen.name + " has whole vectors by itself" : ""));
  if (o.precond == "block-jacobi" || s.brings_operator())
    bad_argument(named + " takes no preconditioner but a diagonal: use jacobi or none");
  const bool shares = o.vectors == "hierarchical";
  if (shares && parse_group(o.gather) == 1)
    bad_argument(named + " shares work among the ranks of a group: say gather node, or how many ranks make one");
  return whole_bicgstab(shares ? WholeVectors::hierarchical : WholeVectors::redundant, o.scalars == "host");
}

const MethodEntry& bicgstab_by_host(const MethodEntry& chosen, const System& s, const Options& o) {
  if (chosen.name != bicgstab::Bicgstab::name || o.solver != chosen.name)
    bad_argument("scalars 'host' is of solver bicgstab, which has to be said");
  if (s.A.words == 2) bad_argument("scalars 'host' is of real systems: leave it at device");
  return o.vectors == "auto" ? bicgstab::by_host() : chosen;
}

}  // namespace

const MethodEntry& method_in_schedule(const MethodEntry& chosen, const Options& o) {
  if (o.schedule != "pipe1") return chosen;
  if (chosen.name != gatherbicgstab::GatherBicgstab::name)
    bad_argument("schedule 'pipe1' is of solver gatherbicgstab, and the solver is " + chosen.name + ": leave it at pipe2");
  return gatherbicgstab::pipe1();
}

const MethodEntry& method_on_vectors(const MethodEntry& asked, const System& s, const Options& o) {
  const MethodEntry& chosen = method_in_schedule(asked, o);
  const MethodEntry& by = o.scalars == "host" ? bicgstab_by_host(chosen, s, o) : chosen;
  const MethodEntry& m = o.vectors == "auto" ? by : bicgstab_on_whole_vectors(chosen, s, o);
  if (parse_group(o.gather) == 1) return m;
  const std::string named = "gather '" + o.gather + "'";
  if (!s.has_hmatrix()) bad_argument(named + " is of H-matrices alone: leave it at rank");
  if (!m.replicated)
    bad_argument(named + " is of methods that gather whole vectors, which solver " + m.name +
                 " does not: use solver gatherbicgstab, or bicgstab with vectors redundant");
  return m;
}

int group_of(const std::string& gather, const Engine& engine) {
  int group = parse_group(gather);
  if (group == 0) {
    group = engine.node_of(0).size();
    for (int first = 0; first < engine.size(); first += group)
      if (engine.node_of(first) != RankRange{first, first + group})
        bad_argument("gather 'node' needs as many ranks on each node, and there are " + std::to_string(engine.size()) +
                     " where the first has " + std::to_string(group) + ": say how many make a group");
  }
  takes_two_hops(engine.size(), group);
  return group;
}

}  // namespace sordino
