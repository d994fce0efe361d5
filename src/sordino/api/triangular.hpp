// Sparse triangular systems, set up once and solved many times.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sordino/runtime/machine.hpp"
#include "sordino/trsv/in_stream.hpp"
#include "sordino/trsv/refinement.hpp"
#include "sordino/trsv/saved_plans.hpp"
#include "sordino/trsv/tiny_pivots.hpp"

namespace sordino {

struct TriangularOptions {
  std::string engine = "host";  // or processes, cuda, model
  std::string devices = "";     // of engine cuda, as option `devices`: a GPU for each rank; empty: the first ones
  int blocks = 0;   // of engine cuda and algorithm ours: thread blocks on each GPU, up to 65536; 0: as many as it has room for
  int ranks = 1;    // that share the blocks, of engine processes of each one; 0: of those there are, as many as `machine` says
                    // are fast, more for 5 % less time
  int threads = 0;  // of engine host, at least one for each rank, and of the setup. 0: as many as there are cores
  std::string algorithm = "ours";           // or paper: Algorithm 1 of paper 004, the baseline; not by processes
  int layout_rows = 0, layout_columns = 0;  // of algorithm paper: P x Q ranks; 0: as many as `ranks`, x 1
  i32 width = 256;                          // most columns of a block, whose triangle is inverted
  bool choose_width = false;  // instead, of our own algorithm: by what `machine` is predicted to take where ranks are
                              //   devices (trsv::choose_width), else 128
  double timeout = 60;        // seconds in which nothing moves, after which a solve ends with an error; 0: never
  Machine machine = {};       // of engine model; of engine cuda what it chooses ranks by
  u64 seed = 0;  // of engine model: 0 delivers in order of time, others delay tasks and messages at random; of engines host and
                 // processes, and algorithm ours, others delay tasks
  const trsv::SavedPlans* plans = nullptr;  // of a solver with this pattern and these options; read while one is made
};

struct TriangularStatistics {
  i64 n = 0;
  i64 entries = 0;         // of the triangle as it was given
  bool by_rows = false;    // kept by rows, because supernodes would store too many zeros (trsv::most_filled), or because
                           //   inverses of blocks have lost too much (trsv::is_refinable)
  i64 stored_entries = 0;  // with the zeros that its supernodes store
  i64 stored_bytes = 0;    // of the values in blocks or rows
  i64 memory_bytes = 0;    // of all that is kept: values, blocks or rows, plans, and the vectors of solves so far
  i64 blocks = 0;          // 0 of rows
  i64 longest_chain = 0;   // blocks, or rows, that wait for one another, one by one
  i64 forward_tasks = 0, backward_tasks = 0;    // 0 until such a solve is planned
  int ranks = 0, threads = 0;                   // 0 ranks: they are chosen with the first plan
  int forward_ranks = 0, backward_ranks = 0;    // of the plans; 0 until such a solve is planned
  std::string forward_reason, backward_reason;  // why so many, where ranks were chosen
  trsv::TinyPivots tiny;
  double growth = 1;            // of roundings by inverses, no bound (trsv::Factor::growth)
  i32 width = 0;                // most columns of a block; 0 of rows
  std::string width_reason;     // why, where it was chosen by prediction
  double setup_seconds = 0;     // supernodes, blocks and inverted triangles; of the last update, after one
  double symbolic_seconds = 0;  // of the setup: finding supernodes, or checking saved ones, and cutting blocks; 0 of rows
  double width_seconds = 0;     // a part of these: of choosing the width
  double plan_seconds = 0;      // of all plans so far; of saved ones of checking them
  double modelled_seconds = 0;  // of the last solve, on the machine of engine model
};

/// V: float, double or Complex<double>. Solves and updates of several threads take turns.
template <class V>
class TriangularSolver {
 public:
  /// The triangle is read and not kept. Throws bad_argument with one sentence for what is no triangle (trsv::validate), for
  /// options out of range, for more ranks than blocks or rows, and
  /// for saved plans that are damaged or made for something else. Where supernodes would store too many zeros, which is known
  /// before any of them is, the triangle is kept by rows. Cost and memory: trsv::Factor, trsv::LevelFactor.
  explicit TriangularSolver(const trsv::TriangleView<V>& L, const TriangularOptions& options = {});
  ~TriangularSolver();

  /// L x = b, L^T x = b or L^H x = b; b and x [n][columns], perhaps the same: of the host, or with engine cuda and our own
  /// algorithm of any GPU, whose work in the legacy default stream is waited for. The first solve of a direction makes and
  /// checks its plan. The bits depend neither on ranks nor on threads. Throws Error where nothing moves for so many seconds.
  void solve(const V* b, V* x, i64 columns = 1, trsv::How how = trsv::How::plain);

  /// The same of b and x on GPUs, with engine cuda and our own algorithm. On one rank, on whose GPU both are, the solve goes
  /// into the caller's stream, behind what that was given; unless it `waits`, x is there when the stream has come so far, and
  /// what has failed by then is thrown by the next solve, or by settle(). Else the stream is waited for first, and the solve,
  /// too. Returns whether x is finite, which costs nothing, or true where it is not waited for. Throws `unsupported` for a
  /// stream that is captured into a graph, and for other engines and algorithms.
  bool solve_there(const V* b, V* x, i64 columns, trsv::How how, const trsv::InStream& in);
  /// Until all solves have ended; throws what one of them has failed of.
  void settle();

  /// x += solve(b - L x), at most so many times, with the triangle that this was made of: a step that does not lessen the
  /// backward error of the worst column is taken back, and is the last. Cost: of each step a solve and two passes over L.
  Refinement refine(const trsv::TriangleView<V>& L, const V* b, V* x, i64 columns, trsv::How how, int most_steps = 1);

  /// How many steps of refinement solutions want, at most 3, by a trial (trsv::refinements_wanted): none where errors are of 16
  /// roundings or four times substitution's, as of most triangles, and of one that is kept by rows, where nothing is inverted;
  /// 3 where inverses grow by more than the root of a rounding, without a trial. Cost: trsv::refinements_wanted.
  int refinements_wanted(const trsv::TriangleView<V>& L, trsv::How how);

  /// New values of the same pattern: plans stay. What is refused leaves the old ones. Of engine processes it is collective:
  /// what one of them refuses, all refuse, and who waits longer than the timeout for the others throws peer_failed. What is
  /// refused there after the factor has it, as inverses of blocks that lose all digits, leaves none: solves throw until another
  /// update is not refused.
  void update(const trsv::TriangleView<V>& L);

  /// Supernodes, and the plans of the directions that were solved so far, for solvers with this pattern, type, width and ranks.
  /// Of a triangle that is kept by rows the fact alone, which is then not found out again: its plans take no longer to make
  /// than to read. Throws Errc::unsupported of algorithm paper, where each way has chosen another number of ranks or none
  /// has, and of a triangle that is kept by rows because of its values: others of its pattern need not be.
  trsv::SavedPlans saved_plans() const;

  TriangularStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sordino
