// Who carries out the plan of a triangular solve: an engine behind one call.
#pragma once
#include <memory>

#include "sordino/api/triangular_paper.hpp"
#include "sordino/trsv/in_stream.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/plan.hpp"

namespace sordino {

template <class V>
class TriangularRunner {
 public:
  virtual ~TriangularRunner() = default;
  /// b and x [n][columns], perhaps the same; they are done with when it returns. Of the host, or where GPUs solve by our own
  /// algorithm of any GPU.
  virtual void solve(const V* b, V* x, i64 columns, bool conjugate) = 0;
  /// The same of GPUs' vectors, together with what the caller has them do; as TriangularSolver::solve_there().
  virtual bool solve_there(const V* b, V* x, i64 columns, bool conjugate, const trsv::InStream& in);
  /// Until all solves have ended; throws what one of them has failed of.
  virtual void settle() {}
  /// The factor has new values.
  virtual void update() {}
  /// Of the last solve, on a described machine; 0 elsewhere.
  virtual double modelled_seconds() const { return 0; }
  /// Of vectors and flags, so far; on GPUs of values and tables, too.
  virtual i64 bytes() const = 0;
};

/// The same options. Throws bad_argument for those out of range, and for an engine that has no triangular solve, or not by the
/// algorithm that is asked for; `unsupported` for one that is not in this build.
const TriangularOptions& checked(const TriangularOptions& options);
/// Among which ranks may be chosen: GPUs of engine cuda, devices of a described node, one of engine host. Throws `unsupported`
/// where engine cuda has no GPU.
int ranks_there(const TriangularOptions& options);
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

/// By paper 004's Algorithm 1: one right-hand side after the other. The triangle must outlive it, and is laid out for the
/// direction by this.
template <class V>
std::unique_ptr<TriangularRunner<V>> make_runner(PaperTriangle<V>& triangle, trsv::Direction direction,
                                                 const TriangularOptions& options);

}  // namespace sordino
