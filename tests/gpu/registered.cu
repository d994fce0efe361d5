// Whether everything that a method may record has a kernel. Needs no GPU: what is asked is the table of kernels.
#include <set>

#include "check.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/linalg/box_rows.hpp"
#include "sordino/linalg/group_gather.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/precond/block_ilu.hpp"
#include "sordino/precond/chebyshev.hpp"
#include "sordino/precond/given.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/cuda/mark.hpp"
#include "sordino/runtime/cuda/table.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/solvers/columns_driver.hpp"
#include "sordino/solvers/driver.hpp"
#include "sordino/solvers/whole_bicgstab.hpp"
#include "unit/hmatrix/surfaces.hpp"

using namespace sordino;

namespace {

/// Products with A, for which the host engine has kernels of its own.
bool is_product(const std::type_info& functor) { return std::string(functor.name()).find("Rows") != std::string::npos; }

bool runs(const Command& c, cuda::SumOrder order) {
  auto there = [&](const std::type_info& functor, const std::type_info& test) {
    return cuda::find_kernel(functor, test, order);
  };
  const std::type_info &functor = c.body->type(), &test = c.test ? c.test->type() : typeid(NoTest);
  return there(functor, test) || (c.test && there(functor, typeid(NoTest)) && there(typeid(Nothing), test));
}

/// The commands of recordings that no kernel runs.
class Missing {
 public:
  void look(const Recording& r) {
    for (auto& c : r.commands)
      for (auto order : {cuda::SumOrder::grid, cuda::SumOrder::fixed})
        if (c.capturable && !is_product(c.body->type()) && !runs(c, order))
          names.insert(c.name + (c.test ? " with its exit test" : "") +
                       (order == cuda::SumOrder::fixed ? ", fixed order" : ""));
  }
  std::set<std::string> names;
};

/// A solve of a method with a diagonal M, or with one that is none.
void solve(Rank& s, const Operator& A, const Preconditioner& M, const MethodEntry& m) {
  Driver driver(s, A, M, m, 4, 4);
  const std::vector<double> b(std::size_t(s.space(A.space()).n_global), 1.0);
  driver.solve(b.data() + driver.space().first_row, nullptr, {.rtol = 1e-6, .max_iterations = 20});
}

std::set<std::string> without_kernel(const MethodEntry& m) {
  Missing missing;
  const CsrMatrix matrix = poisson(6, 5, 7, 7, 10);
  const CsrView A = matrix.view();
  host::HostEngine engine({.ranks = 2, .timeout = 20});
  engine.run(
      [&](Rank& s) {
        if (s.id() == 0) s.mutate = [&](Recording& r) { missing.look(r); };
        Partition partition = balance(A, s.size());
        auto op = m.replicated ? CsrOperator::gathered(s, A, partition) : std::make_unique<CsrOperator>(s, A, partition);
        solve(s, *op, Jacobi(s, A, op->space()), m);
        if (!m.any_preconditioner) return;
        solve(s, *op, Chebyshev(s, *op, A, 3, 2.0), m);
        auto tiles = std::make_unique<BlockIlu>(s, A, op->space(), Tiling{}, m.needs_spd, tiles_of_warp);
        tiles->factorize(A);
        solve(s, *op, GivenOperator(std::move(tiles)), m);
      },
      {});
  return missing.names;
}

}  // namespace

TEST("registered: a kernel runs every product of a matrix in boxes") {
  cuda::enable_kernels();
  for (auto order : {cuda::SumOrder::grid, cuda::SumOrder::fixed})
    for (const std::type_info* product :
         {&typeid(Applied<BoxRows, 0>), &typeid(Applied<BoxRows, 1>), &typeid(Applied<BoxRows, 2>),
          &typeid(Applied<BoxRows, 3>), &typeid(Applied<ConstantBoxRows, 0>), &typeid(Applied<ConstantBoxRows, 1>),
          &typeid(Applied<ConstantBoxRows, 2>), &typeid(Applied<ConstantBoxRows, 3>), &typeid(RowPair<BoxRows>),
          &typeid(RowPair<ConstantBoxRows>)})
      CHECK(cuda::find_kernel(*product, typeid(NoTest), order));
}

TEST("registered: a kernel hands on what groups of ranks gather") {
  cuda::enable_kernels();
  for (auto order : {cuda::SumOrder::grid, cuda::SumOrder::fixed})
    CHECK(cuda::find_kernel(typeid(HandOn), typeid(NoTest), order));
}

TEST("registered: a kernel runs every command that a method records") {
  cuda::enable_common();
  cuda::enable_kernels();
  for (auto& m : methods()) {
    if (m.complex == Factors::of_numbers) continue;
    for (auto& missing : without_kernel(m)) {
      NOTE(m.name, ": ", missing);
      CHECK(missing.empty());
    }
  }
}

TEST("registered: a kernel runs every command of vectors that groups of ranks share, also beside scalars of the host") {
  cuda::enable_common();
  cuda::enable_kernels();
  const hmatrix::HMatrix H(bem::Laplace(surfaces::sphere(5, 8).view()), {});
  Missing missing;
  int commands = 0;
  host::HostEngine engine({.ranks = 4, .timeout = 20});
  engine.run(
      [&](Rank& s) {
        if (s.id() == 0)
          s.mutate = [&](Recording& r) {
            missing.look(r);
            for (auto& c : r.commands) commands += c.name == "Part dots" || c.name == "Add parts" || c.name == "Part of x";
          };
        const auto A = hmatrix::HMatrixOperator::gathered(s, H, hmatrix::balance(H, s.size()), {}, 2);
        for (bool by_host : {false, true}) solve(s, *A, Identity(), whole_bicgstab(WholeVectors::hierarchical, by_host));
      },
      {});
  for (auto& name : missing.names) {
    if (name.starts_with("Project") || name.starts_with("Strips")) continue;  // of hosts
    NOTE(name);
    CHECK(false);
  }
  CHECK(commands == 2 * 7);
}

TEST("registered: a kernel runs every command of 2, 4 and 8 columns at once") {
  cuda::enable_common();
  cuda::enable_kernels();
  const hmatrix::HMatrix H(bem::Laplace(surfaces::sphere(5, 8).view()), {});
  Missing missing;
  int commands = 0;
  host::HostEngine engine({.ranks = 2, .timeout = 20});
  engine.run([&](Rank& s) {
    if (s.id() == 0)
      s.mutate = [&](Recording& r) {
        missing.look(r);
        for (auto& c : r.commands)
          commands += c.name == "Log" || c.name == "Judge" || c.name == "KeepBest" || c.name == "LowerBest";
      };
    const Partition p = hmatrix::balance(H, s.size());
    const hmatrix::HMatrixOperator single(s, H, p);
    for (int columns : {2, 4, 8}) {
      const auto A = single.of_columns(s, H, p, hmatrix::Distribution::rows, columns);
      columns::ColumnsDriver(s, A, Scaling{}, 4);
    }
  });
  for (auto& name : missing.names) {
    if (name.starts_with("Project") || name.starts_with("Strips")) continue;  // of hosts
    NOTE(name);
    CHECK(false);
  }
  CHECK(commands == 3 * 5);
}
