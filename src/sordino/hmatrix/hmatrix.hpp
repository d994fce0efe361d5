// A dense matrix in a hierarchy of blocks, most of them sums of few outer products (000, section II).
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sordino/base/clock.hpp"
#include "sordino/base/large_array.hpp"
#include "sordino/comm/accord.hpp"
#include "sordino/hmatrix/compression.hpp"
#include "sordino/hmatrix/distribution.hpp"
#include "sordino/hmatrix/trees.hpp"
#include "sordino/hmatrix/value_store.hpp"

namespace sordino::hmatrix {

struct BuildOptions {
  CompressionOptions compression = {};
  double eta = 2;              // of admissibility: smaller is stricter
  i32 leaf = 15;               // points of a cluster that is not cut
  int threads = 0;             // of all steps; 0: as many as there are cores; 32 work at most, for each GPU
  u64 seed = 1;                // of the rows drawn
  std::vector<int> gpus = {};  // that make trees and compute leaves, by their CUDA numbers; none: threads of this process do
  /// Rows by which the whole is compared with the generator's; 0: it is not; n or more: by all its rows. Where blocks are
  /// certified, those that these show to be off by more than any may be are done again, from all their entries.
  int probes = 32;
};

/// Throws bad_argument for what no matrix is built with.
void require_usable(const BuildOptions& options);

/// A leaf with its numbers, in the tree's order of rows and columns.
template <class V>
struct LeafOf {
  Block block;
  i32 rank = -1;         // -1: dense
  const V* u = nullptr;  // [rows][rank], or dense [rows][columns]
  const V* v = nullptr;  // [rank][columns]
  bool is_dense() const { return rank < 0; }
  /// Its numbers are here; of a matrix of which this process holds a part they may not be.
  bool is_held() const { return u || rank == 0; }
  i64 entries() const { return is_dense() ? block.entries() : (i64(block.rows.size()) + block.columns.size()) * rank; }
  /// What it stores of row i of the matrix: [columns].
  void row(i32 i, V* out) const;
};

/// Seconds of a build's steps; what is not among them is counting.
struct Phases {
  double trees = 0;     // of clusters and of blocks
  double devices = 0;   // GPUs' memory, and tables of what entries are made of
  double leaves = 0;    // all of them, on GPUs and threads;
  double waiting = 0;   //   in these, of a GPU's thread, for a batch to be computed (the mean of GPUs),
  double fetching = 0;  //   and for its values to come to the host
  double probes = 0;    // while GPUs give back their memory
};

struct Statistics {
  i64 clusters = 0, low_rank_blocks = 0, dense_blocks = 0, nodes = 0;
  i64 stored_values = 0, low_rank_values = 0;
  i32 largest_rank = 0;
  double mean_rank = 0;
  i64 redone_blocks = 0;  // that had missed their tolerance
  double norm = 0;        // Frobenius, of what is stored
  /// ||A - H|| / ||H||, Frobenius, from `probes` rows of the whole; its square is estimated without bias; -1: not estimated.
  double compression_error = -1;
  double error_of_estimate = 0;  // its standard error
  double seconds = 0;
  Phases phases = {};
};

/// Called some ten times a second with the share that is done, on the thread that asked for the matrix. What it throws ends the
/// build.
using BuildProgress = std::function<void(double share)>;

/// What of a matrix is not in its points, its options and its values.
struct Outline {
  std::vector<i32> ranks;  // [leaves], in their order; -1: dense
  Statistics statistics = {};
};

/// Says that a matrix is to be the transpose of another.
struct Transposed {};

/// Ranks of several processes, as many in each, that multiply by a matrix, and what each of them owns.
struct Ranks {
  int process = 0, processes = 1, of_a_process = 1;
  Distribution how = Distribution::rows;
  std::vector<i64> cuts = {};  // [ranks of all + 1] the rows of each, from 0 to n
  int all() const { return processes * of_a_process; }
  int first() const { return process * of_a_process; }
  bool operator==(const Ranks&) const = default;
};

/// What one of several processes builds: what its ranks will multiply.
struct BuildPart {
  /// Without cuts rows are those of balance(); a preconditioner's matrix has those of the matrix that is solved for.
  Ranks ranks;
  /// Brings these processes together, when this one has something to tell; who waits longer than so many seconds throws.
  std::function<std::unique_ptr<Processes>(double patience)> meet;
};

struct Filled;
template <class V>
class LeafFiller;
template <class V>
struct ExactRows;

/// Of double or Complex<double>.
template <class V>
class HMatrixOf {
 public:
  /// Builds all leaves on threads of this process, or on GPUs; the values do not depend on how many. Memory while it builds:
  /// what is stored and a sixteenth, 1 MiB and one block's crosses for each thread (128 MiB, 256 of complex entries, where a
  /// block is evaluated as a whole), and 64 B a leaf; where one GPU builds, the rows that are compared, too, if they are 64 at
  /// most; of each GPU up to three quarters of what is free (DeviceLeaves). GPUs compute cross approximations with references;
  /// leaves that need more than 128 terms are left to the threads. Throws bad_argument for options and entries that are not
  /// finite, `unsupported` for GPUs that are not there and a generator without code for them, `device` for a GPU that fails, or
  /// finishes no leaf for a minute. The generator is not needed afterwards.
  HMatrixOf(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress = {});
  /// One of several processes builds the leaves that its ranks multiply, and those on the diagonal; all are told the ranks and
  /// the statistics of the whole, which has the bits of one that is built alone. Collective over the processes that `part`
  /// names, which all have the same generator and options. Each compresses an equal share of the leaves first, by the terms
  /// that eps lets expect; then they meet, tell each other 24 B a leaf, and each computes what it lacks and drops what others
  /// multiply. Time and memory: those of a whole build, over the processes, but for the trees, 40 B a leaf and the diagonal;
  /// leaves that ranks of several processes share by rows are in each of them. Throws what a whole build does, of another
  /// process, too, bad_argument for processes that were given different things, and peer_failed for one that does not come
  /// within a minute and four times what this one has taken. Exceptions of `progress` that are no Error are thrown here alone.
  HMatrixOf(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildPart& part,
            const BuildProgress& progress = {});
  /// One that was written: of the same points, eta and leaf. `read` hands over the next values, as write() has told them, and
  /// what it throws ends it. Throws bad_argument for ranks that do not fit.
  HMatrixOf(const double* points, i64 n, double eta, i32 leaf, const Outline& outline,
            const std::function<void(V* to, i64 count)>& read);
  HMatrixOf(const HMatrixOf&) = delete;
  /// The transpose of one, which has as many bytes, of its own: values that a product reads from the first to the last lie so
  /// in a product with the transpose, too. On as many threads as there are cores.
  HMatrixOf(const HMatrixOf& of, Transposed);
  /// Tells all values, leaf by leaf.
  void write(const std::function<void(const V* from, i64 count)>& tell) const;
  Outline outline() const;

  i64 size() const { return i64(tree_.order.size()); }
  const ClusterTree& tree() const { return tree_; }
  std::span<const LeafOf<V>> leaves() const { return leaves_; }  // by first row, then by first column
  const Statistics& statistics() const { return statistics_; }
  i64 stored_bytes() const { return i64(sizeof(V)) * statistics_.stored_values; }
  /// The diagonal, in the tree's order.
  std::vector<V> diagonal() const;
  /// One row of what is stored, in the tree's order. O(leaves + the row's entries).
  void row(i32 i, V* out) const;
  /// Whose part this is; null: it is whole.
  const Ranks* part() const { return part_ ? &*part_ : nullptr; }
  /// Throws bad_argument where this process holds a part, with `what` wants the whole: "a row".
  void require_whole(const char* what) const;
  /// Throws bad_argument where this process holds the part of other ranks than these, which have cuts.
  void require_part_of(const Ranks& ranks) const;
  /// Memory of the values that are here.
  i64 held_bytes() const;

 private:
  void plant(const GeneratorOf<V>& generator, const BuildOptions& options);
  void take_trees(Trees trees, int threads);
  void fill(const GeneratorOf<V>& generator, const BuildOptions& options, const BuildProgress& progress);
  void take(const LeafFiller<V>& filler, std::span<const Filled> filled);
  void sum_up(std::span<const Filled> filled);
  void count(int threads);
  std::vector<i64> compare(const GeneratorOf<V>& generator, const BuildOptions& options, LeafFiller<V>& filler,
                           std::span<Filled> filled, Accord* processes, const ExactRows<V>* known = nullptr);
  std::vector<i64> first_share(const BuildOptions& options, const Ranks& ranks);
  void exchange(Accord& processes, std::span<Filled> filled);
  std::vector<i64> settle(const Ranks& ranks);

  double lap();

  double begun_ = seconds_now(), lapped_ = begun_;
  ClusterTree tree_;
  LargeArray<LeafOf<V>> leaves_;
  std::vector<ValueStore<V>> stores_;  // one a thread
  Statistics statistics_;
  std::optional<Ranks> part_;
};

using Leaf = LeafOf<double>;
using HMatrix = HMatrixOf<double>;
using ComplexHMatrix = HMatrixOf<Number>;

}  // namespace sordino::hmatrix
