// Iterations of a method on an H-matrix, on a described machine where nothing is computed: ranks and matrices that no computer
// here would hold.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sordino/base/ledger.hpp"
#include "sordino/hmatrix/share.hpp"
#include "sordino/runtime/machine.hpp"
#include "sordino/solvers/whole_bicgstab.hpp"

namespace sordino {

/// Rows by hmatrix::balance, no preconditioner, no look at the best x.
struct ModelledMethod {
  std::string name = "bicgstab";
  bool fallen_back = false;  // the way that it goes over to where it leads no further: of gatherbicgstab the paper's Fig. 2(a)
  bool at_once = false;      // of gatherbicgstab, whose gathers are then waited for before anything else: the paper's pipe1
  int ranks = 1;
  Machine machine = {};
  hmatrix::Distribution distribution = hmatrix::Distribution::rows;
  int group = 1;  // of methods on whole vectors: ranks that receive what others send once, and hand it on
  std::optional<WholeVectors> vectors = {};  // of bicgstab: whole ones; hierarchical ones are shared by the ranks of a group
};

/// [ranks]: what `iterations` book, those after the first few. The matrix's values are not read: it may be without_values().
/// Memory: the tables of all ranks' products, and, of distributed vectors, 40 B for each row and rank while they are set up.
/// Throws bad_argument for an unknown method or one without another way, gathers, groups or whole vectors of another one,
/// groups that ranks do not divide into, fewer than one iteration, and more ranks than rows.
std::vector<Ledger> modelled_iterations(const hmatrix::HMatrix& matrix, const ModelledMethod& method, int iterations);

}  // namespace sordino
