// Triangular solves on GPUs, behind TriangularSolver's door. Knows no CUDA itself.
#pragma once
#include "sordino/api/triangular_runner.hpp"

namespace sordino::cuda {

/// Those that the options name, or all there are. Throws `unsupported` with a sentence where this machine has none.
int triangular_gpus(const TriangularOptions& options);

/// One GPU a rank: those that the options name, or the first ones. Values are copied to them; vectors come from the host and go
/// back there with each solve. Memory is made for as many columns as a solve had, up to eight, or 32 of doubles by blocks where
/// there is room, and for more when one has more. Throws `unsupported` with a sentence where this machine cannot do that.
template <class V>
std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                                            const TriangularOptions& options);
/// Of a triangle kept by rows; the same, and with the bits of engine host.
template <class V>
std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan,
                                                            const TriangularOptions& options);
/// By paper 004's Algorithm 1, a GPU for each rank of the layout: one right-hand side after the other, sums as they come.
template <class V>
std::unique_ptr<TriangularRunner<V>> make_triangular_runner(const trsv::paper::Factor<V>& factor,
                                                            const trsv::paper::Layout& layout,
                                                            const TriangularOptions& options);

}  // namespace sordino::cuda
