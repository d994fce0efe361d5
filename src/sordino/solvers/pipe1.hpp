// GatherBicgstab that hides no gather: vector operations stand before products, and a gather is waited for at once (000,
// section VII: pipe1, which hides the copy of a slice to the host alone; here nothing is copied). The bits are the same.
#pragma once
#include "sordino/solvers/registry.hpp"

namespace sordino::gatherbicgstab {

/// To compare with: no method of the list.
const MethodEntry& pipe1();

}  // namespace sordino::gatherbicgstab
