// Paper 004's Algorithm 2 (Ding et al. 2021, section 5), as corrected: the time of a triangular solve from its critical path.
//
// A node is what one thread block of SOLVE does: a rank's blocks of one block column, w h values. Edges are messages: from the
// diagonal block of a column to other ranks' blocks of it, and from a rank's blocks to the diagonal blocks of their rows.
// Between nodes of one rank there are none. Levels are those of a breadth-first search from the nodes that await no message.
#pragma once
#include <array>
#include <vector>

#include "sordino/runtime/machine.hpp"
#include "sordino/trsv/paper_layout.hpp"

namespace sordino::trsv::paper {

/// Of messages between two GPUs that are as near to each other: s bytes are sent at bandwidth s / (s + half_bytes).
struct Way {
  double latency_s = 0;   // L_g: for each column and row with messages, once
  double bandwidth = 0;   // B/s of large messages
  double half_bytes = 0;  // at which the bandwidth is half of that

  double seconds(double bytes) const { return (bytes + half_bytes) / bandwidth; }
};

struct Cluster {
  double memory_bandwidth = 828e9;                         // B/s, bw_p
  double least_bandwidth = 1.3e9, most_bandwidth = 5.2e9;  // B/s of a thread block
  i32 full_blocks = 160;                                   // MAX_TB: thread blocks that reach the memory's bandwidth
  int gpus_per_socket = 3, gpus_per_node = 6;
  Way socket, node, network;  // messages by a thread block: x
  double one_thread = 9;      // times as long as by a thread block, within a node: sums

  const Way& way(i32 a, i32 b) const {
    return a / gpus_per_socket == b / gpus_per_socket ? socket : a / gpus_per_node == b / gpus_per_node ? node : network;
  }
  /// Of one message.
  double message(i32 from, i32 to, double bytes, bool by_one_thread) const;
};

/// The paper's machine. Published: bandwidths of its memory and of thread blocks, 75 MB/s for messages of 1,024 B between
/// nodes, that messages within a socket are on average 3.9 times as fast, and 1.2 times as fast as within a node, and that
/// those of a thread block are 9 times as fast as those of one thread. L_g and the shape of the curves are not published, and
/// assumed: 0.2 us within a node, 1 us between nodes, and half the bandwidth at 128 B.
Cluster summit();
/// GPUs with so many multiprocessors each, of a described machine; bounds follow from them as in the paper: 8 thread blocks are
/// resident on each, and 2 have its bandwidth. Messages have the machine's latency and bandwidth.
Cluster cluster_of(const Machine& machine, int multiprocessors = 132);

/// Clamped to the bounds: B/s of each of so many thread blocks. `blocks` need not be whole.
double block_bandwidth(const Cluster& cluster, double blocks);
/// Of n messages of one column, those that take their time one after the other: log2 n of more than two.
double not_overlapped(i64 n);
/// The least power of two that is not below `bytes`.
double rounded_up(double bytes);

/// Lines 9 - 27 for one GPU: adds up nodes of one level after the other.
class LevelTime {
 public:
  /// `adjusted`: thread blocks of a level's last part share the bandwidth (line 19); else each has `initial`.
  LevelTime(const Cluster& cluster, bool adjusted, double initial) : c_(cluster), adjusted_(adjusted), initial_(initial) {}
  void node(double bytes);
  void end_level();
  double seconds() const { return seconds_; }

 private:
  const Cluster& c_;
  bool adjusted_;
  double initial_, seconds_ = 0, bytes_ = 0;
  i32 nodes_ = 0;
};

struct Prediction {
  double seconds = 0;                  // of the GPU that takes longest
  double computing = 0;                // its part
  double communicating = 0;            // its part
  i64 messages = 0;                    // that this GPU sends: those on the critical path
  i64 broadcasts = 0, reductions = 0;  // messages of all GPUs
  i32 levels = 0;
  double initial_bandwidth = 0;  // B/s of a thread block, line 5
  bool refined = false;          // line 44: the first result was too good to be true
};

/// Cost: blocks times a logarithm, and ranks times block columns.
Prediction predict(const Pattern& pattern, const Grid& grid, const Cluster& cluster);
/// The same of several grids.
std::vector<Prediction> predict(const Pattern& pattern, const std::vector<Grid>& grids, const Cluster& cluster);

/// P x 1, 1 x P, or the most even grid with at least as many rows as columns and more than one of each; a prime number of
/// GPUs has none.
enum class Shape { column_broadcast, row_reduction, two_dimensional };
inline constexpr std::array shape_names{"P x 1", "1 x P", "2-D"};
Grid grid_of(Shape shape, int gpus);

/// What Fig. 5 shows: predictions of each shape for 1, ..., most_gpus GPUs, where it has a grid of so many.
struct Scaling {
  Shape shape;
  Grid grid;
  Prediction prediction;
};
std::vector<Scaling> scaling(const Pattern& pattern, const Cluster& cluster, int most_gpus = 18);

}  // namespace sordino::trsv::paper
