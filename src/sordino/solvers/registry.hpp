// The methods by name. Adding one: its two files, and its line in methods.txt, from which CMake makes methods.hpp. Command
// line, Python, documentation, conformance tests and, in a CUDA build, the kernels follow from the list.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sordino/solvers/methods.hpp"

namespace sordino {

struct MethodEntry {
  std::string name, summary;
  bool needs_spd;           // of complex matrices a Hermitian definite one, or, where it computes with numbers, a symmetric one
  bool replicated;          // wants whole vectors on every rank
  bool takes_roots;         // of a diagonal M, which has to be positive
  bool any_preconditioner;  // not only a diagonal; nor does it hide reductions behind products
  bool flexible;            // M may be another operator in each application, and need not be symmetric
  bool scalable;            // A may be scaled on both sides (SymmetricScaling)
  Factors complex;          // how it computes with complex vectors, if it does
  std::unique_ptr<Method> (*make)(const Problem&);
};

const std::vector<MethodEntry>& methods();
/// Throws bad_argument, listing the methods, if there is none of this name.
const MethodEntry& method(const std::string& name);
/// Throws unsupported if the method takes no preconditioner but a diagonal.
void require_any_preconditioner(const MethodEntry& method);

}  // namespace sordino
