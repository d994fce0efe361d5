// Who carries out the plan of a triangular solve: an engine behind one call.
#pragma once
#include <memory>

#include "sordino/api/triangular.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino {

template <class V>
class TriangularRunner {
 public:
  virtual ~TriangularRunner() = default;
  /// b and x [n][columns] of the host, perhaps the same; they are done with when it returns.
  virtual void solve(const V* b, V* x, i64 columns, bool conjugate) = 0;
  /// The factor has new values.
  virtual void update() {}
  /// Of the last solve, on a described machine; 0 elsewhere.
  virtual double modelled_seconds() const { return 0; }
  /// Of vectors and flags, so far; on GPUs of values and tables, too.
  virtual i64 bytes() const = 0;
};

/// Throws bad_argument for an engine that has no triangular solve.
void require_triangular_engine(const std::string& engine);
/// How an engine wants a plan's tasks.
trsv::PlanOptions plan_options(const TriangularOptions& options);
/// Factor and plan must outlive it.
template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::Factor<V>& factor, const trsv::Plan& plan,
                                                 const TriangularOptions& options);
/// Of a triangle kept by rows; the plan's direction has been prepared.
template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(const trsv::LevelFactor<V>& factor, const trsv::Plan& plan,
                                                 const TriangularOptions& options);

}  // namespace sordino
