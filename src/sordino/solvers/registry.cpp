#include "sordino/solvers/registry.hpp"

namespace sordino {
namespace {

template <class... M>
std::vector<MethodEntry> entries(MethodList<M...>) {
  return {{M::name, M::summary, std::string(M::matrix) == "spd", M::replicated, M::takes_roots, M::any_preconditioner,
           M::flexible, M::scalable, M::complex, &make<M>}...};
}

}  // namespace

const std::vector<MethodEntry>& methods() {
  static const std::vector<MethodEntry> all = entries(Methods{});
  return all;
}

const MethodEntry& method(const std::string& name) {
  std::string known;
  for (auto& m : methods()) {
    if (m.name == name) return m;
    known += (known.empty() ? "" : ", ") + m.name;
  }
  bad_argument("there is no solver '" + name + "'; there are " + known);
}

void require_any_preconditioner(const MethodEntry& m) {
  if (!m.any_preconditioner)
    throw Error(Errc::unsupported,
                "solver " + m.name +
                    " takes no preconditioner but a diagonal, since its updates multiply by M^-1 row by row: use bicgstab or "
                    "gmres, or cg where the matrix is symmetric positive definite");
}

}  // namespace sordino
