// The methods. Adding one: its two files, and its name in this file. Command line, Python, documentation, conformance tests
// and, in a CUDA build, the kernels follow from the list.
#pragma once
#include <string>
#include <vector>

#include "sordino/solvers/bicgstab.hpp"
#include "sordino/solvers/cg.hpp"
#include "sordino/solvers/gatherbicgstab.hpp"
#include "sordino/solvers/pipebicgstab.hpp"
#include "sordino/solvers/prcg.hpp"
#include "sordino/solvers/srcg.hpp"

namespace sordino {

template <class... M>
struct MethodList {};

using Methods =
    MethodList<cg::Cg, prcg::Prcg, srcg::Srcg, bicgstab::Bicgstab, pipebicgstab::PipeBicgstab, gatherbicgstab::GatherBicgstab>;

struct MethodEntry {
  std::string name, summary;
  bool needs_spd;
  bool replicated;  // wants whole vectors on every rank
  std::unique_ptr<Method> (*make)(const Problem&);
};

const std::vector<MethodEntry>& methods();
/// Throws bad_argument, listing the methods, if there is none of this name.
const MethodEntry& method(const std::string& name);

}  // namespace sordino
