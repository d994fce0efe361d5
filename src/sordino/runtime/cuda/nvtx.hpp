// Ranges by NVTX: what Nsight and other tools show above kernels and copies.
#pragma once

namespace sordino::cuda {

/// From now on ranges (base/range.hpp) are those of NVTX's domain "sordino"; false where the toolkit brought no NVTX. Without a
/// tool NVTX does nothing but look for one, once.
bool show_ranges();

}  // namespace sordino::cuda
