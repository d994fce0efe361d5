#include "sordino/solvers/pipe1.hpp"

namespace sordino::gatherbicgstab {

const MethodEntry& pipe1() {
  static const MethodEntry entry = [] {
    MethodEntry made = method(GatherBicgstab::name);
    made.summary = "pipelined BiCGStab on replicated vectors, whose all-gathers are waited for at once";
    made.make = [](const Problem& k) -> std::unique_ptr<Method> { return std::make_unique<GatherBicgstab>(k, true); };
    return made;
  }();
  return entry;
}

}  // namespace sordino::gatherbicgstab
