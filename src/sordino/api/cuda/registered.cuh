// A kernel for every functor and exit test that registered code records.
#pragma once
#include "sordino/hmatrix/others_rows.hpp"
#include "sordino/hmatrix/panel_rows.hpp"
#include "sordino/linalg/box_rows.hpp"
#include "sordino/linalg/group_gather.hpp"
#include "sordino/linalg/host_operator.hpp"
#include "sordino/linalg/map_rows.hpp"
#include "sordino/linalg/single_rows.hpp"
#include "sordino/linalg/stencil_rows.hpp"
#include "sordino/precond/chebyshev.hpp"
#include "sordino/precond/eight_colours.hpp"
#include "sordino/precond/grid_transfers.hpp"
#include "sordino/precond/red_black.hpp"
#include "sordino/precond/tile_solve.hpp"
#include "sordino/runtime/cuda/enable.cuh"
#include "sordino/solvers/bicgstab_scalars.hpp"
#include "sordino/solvers/columns_steps.hpp"
#include "sordino/solvers/complex_bicgstab.hpp"
#include "sordino/solvers/complex_inner_bicgstab.hpp"
#include "sordino/solvers/driver_steps.hpp"
#include "sordino/solvers/inner_bicgstab.hpp"
#include "sordino/solvers/linear_system.hpp"
#include "sordino/solvers/registry.hpp"
#include "sordino/solvers/whole_bicgstab_steps.hpp"

namespace sordino::cuda {

template <SumOrder order, class... M>
void enable_methods(MethodList<M...>) {
  (enable<order>(typename M::kernels{}), ...);
}

/// Products with real matrices.
template <SumOrder order, class... Rows>
void enable_real_rows() {
  (enable<order>(AppliedKernels<Rows>{}), ...);
  (enable<order>(KernelList<Kernel<RowPair<Rows>>>{}), ...);
}
/// With complex ones.
template <SumOrder order, class... Rows>
void enable_complex_rows() {
  enable_real_rows<order, Rows...>();
  (enable<order>(TurnedKernels<Rows>{}), ...);
}

template <SumOrder order>
void enable_registered() {
  enable_methods<order>(Methods{});
  enable<order>(complex_bicgstab::Kernels{});
  enable<order>(DriverKernels{});
  enable<order>(LinearSystemKernels{});
  enable<order>(chebyshev::Kernels{});
  enable<order>(BlockIluKernels{});
  enable<order>(multigrid::Kernels{});
  enable<order>(red_black::Kernels{});
  enable<order>(eight_colours::Kernels{});
  enable<order>(MapKernels{});
  enable<order>(SingleKernels{});
  enable<order>(hmatrix::PanelKernels{});
  enable<order>(hmatrix::OthersKernels{});
  enable<order>(GroupKernels{});
  enable<order>(inner_bicgstab::Kernels{});
  enable<order>(complex_inner_bicgstab::Kernels{});
  enable<order>(whole_vectors::Kernels{});
  enable<order>(bicgstab::ScalarKernels{});
  enable<order>(columns::Kernels{});
  enable_real_rows<order, SellRows, CsrRows<4>, CsrRows<32>>();
  enable_real_rows<order, DiaRows, StencilRows<7>, StencilRows<27>, StencilRows<7, OnceEntries>, BoxRows>();
  enable_real_rows<order, ConstantRows, StencilRows<7, SharedEntries>, StencilRows<27, SharedEntries>, ConstantBoxRows>();
  enable<order>(AppliedKernels<ScatteredRows>{});
  enable<order>(TurnedKernels<ScatteredRows>{});
  enable_complex_rows<order, SellRowsOf<ComplexEntries>, CsrRows<4, ComplexEntries>, CsrRows<32, ComplexEntries>>();
}

}  // namespace sordino::cuda
