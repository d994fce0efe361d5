// What a matrix is under transposition, and the method that follows from it.
#pragma once
#include <optional>
#include <string>

#include "sordino/api/system.hpp"
#include "sordino/solvers/registry.hpp"

namespace sordino {

/// Of a real matrix both say the same.
struct Symmetry {
  bool hermitian = false;  // A^H = A
  bool symmetric = false;  // A^T = A
  bool mirrored = false;   // a real one is, bit by bit; false: it is not, or nobody looked
};

/// Entry by entry, to rounding. Cost: one pass over the arrays, on several threads; it stops at the first two that fit neither.
Symmetry symmetry_of(const CsrView& A);
/// Throws bad_argument where new values of a complex matrix take from a method what it needs. Cost: O(nnz) for those that do.
void require_symmetry_of(const MethodEntry& method, const CsrView& A);
/// Throws bad_argument if the method takes roots of M's diagonal, which is that of A for jacobi, and A's is not positive.
void require_roots(const MethodEntry& method, const std::string& preconditioner, const CsrView& A);
/// hermitian, symmetric (and not Hermitian), or general.
std::string name(const Symmetry& symmetry);

/// A method for a matrix, and what the matrix was found, or said, to be; empty: nobody looked.
struct ChosenMethod {
  const MethodEntry* method = nullptr;
  std::string why;  // "asked for", or what the matrix is; empty for the cg of auto, of which the machine is to say more
  std::string symmetry;
  bool mirrored = false;  // Symmetry::mirrored, where somebody looked
};

/// Options solver and symmetry; auto takes cg, until the machine is asked (method_choice.hpp), for a Hermitian matrix with a
/// positive diagonal (the sign of a definite one; cg says `indefinite` if it was not), cocg for a complex symmetric one, else
/// bicgstab, also where entries are not known. Real matrices are looked at where solver is auto or symmetry is said, complex
/// ones also before a method that needs a symmetry. Throws bad_argument where that is not the matrix's, and unsupported for a
/// method of real numbers alone.
ChosenMethod choose_method(const System& system, const Options& options);

}  // namespace sordino
