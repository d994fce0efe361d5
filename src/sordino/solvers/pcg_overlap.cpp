#include "sordino/solvers/pcg_overlap.hpp"

namespace sordino {

template <>
std::unique_ptr<Method> make<pcg_overlap::PcgOverlap>(const Problem& problem) {
  return std::make_unique<pcg_overlap::PcgOverlap>(problem);
}

}  // namespace sordino
