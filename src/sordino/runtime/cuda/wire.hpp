// What host and device agree on: the words in device memory, the words in host memory that the device can reach, the messages
// between ranks, and what a launch is told beside its functor. Plain data only.
#pragma once
#include "sordino/runtime/cuda/dealing.hpp"
#include "sordino/runtime/handles.hpp"
#include "sordino/runtime/pulse.hpp"

namespace sordino::cuda {

constexpr int block_threads = 256;
constexpr int most_finishes = 4, most_awaits = 4, most_puts = 4, most_groups = 4;  // of one command
constexpr int most_values = 16;                                                    // that one reduction sums
constexpr int most_parts = 256;     // values times ranks that one command finishes
constexpr int most_scalars = 1024;  // of one rank
constexpr int most_epochs = 512;    // channels that one program uses
constexpr int flag_stride = 32;     // words: one flag a line of 128 bytes

/// A message that needs no flag and no fence: 16 bytes are written and read at once, so the tag vouches for the value.
struct alignas(16) Packet {
  double value;
  u64 tag;
};

/// The word in flags and tags: epoch << 1 | stop request, as on the host engine.
SORDINO_HD constexpr u32 flag_word(u32 epoch, bool stop) { return epoch << 1 | u32(stop); }
SORDINO_HD constexpr bool is_epoch(u32 word, u32 epoch) { return word >> 1 == (epoch & 0x7fffffffu); }

/// Places of commands in the order of their replay, modulo 2^31: those that are compared are not half as far from each other.
/// Two words are no places: 0, "nowhere", and `from_the_start`, ahead of all.
constexpr u32 from_the_start = 1;
SORDINO_HD constexpr u32 place_in_order(i32 iteration, i32 commands, i32 command) {
  return (u32(iteration) * u32(commands) + u32(command)) | 0x80000000u;
}
/// Whether `place` is `mark`, or behind it.
SORDINO_HD constexpr bool is_from(u32 place, u32 mark) {
  return mark != 0 && (mark == from_the_start || i32((place - mark) << 1) >= 0);
}

/// How a kernel adds up what its rows return: as its threads and blocks come, which is fastest, or as runtime/sum_order.hpp
/// says, which is the same everywhere.
enum class SumOrder { grid, fixed };

enum class Wait : i32 { nothing, reduction, halo, own_blocks };

/// What a device waited for when it lost patience.
struct FaultRecord {
  Wait what = Wait::nothing;
  i32 command = 0, iteration = 0;
  i32 channel = 0;  // which awaited vector of the command, or reduction slot
  i32 from = 0;     // which part of all reductions that it finishes, which peer of the exchange, which block
  u32 expected = 0, seen = 0;
};

/// Device memory of one rank, uploaded at the start of every replay. Constant while a chunk of iterations runs, except where
/// said otherwise: so a command may read it before the one ahead of it has ended.
struct alignas(16) Control {
  u32 halt = 0;          // set by a command, to its place: every one from it on does nothing
  u32 stop_seen_at = 0;  // set by a command: place of the first that saw a stop request
  i32 first_iteration = 0, max_iterations = 0;
  u32 stop = 0;                               // a stop is requested here: told to the others with everything sent
  u32 history_next = 0;                       // where the chunk's first exit test writes
  u32 marks = 0;                              // chunks ended, since the engine was built
  u32 ticket = 0;                             // set by commands: blocks that have sent their rows
  u32 patience = 0, unused = 0;               // units of 1,024 ns without anybody's progress; 0: forever
  u64 waited_reduction = 0, waited_halo = 0;  // nanoseconds, set by commands
  i32 exit_verdict = 0, exit_iteration = 0, exit_command = 0;
  u32 fault = 0;
  FaultRecord cause;
};

/// Where the blocks of a kernel that stays meet. On a line of its own: nobody looks at it who looks at Control.
struct alignas(128) Meeting {
  u32 arrived = 0;  // blocks, at all meetings since the replay began
  u32 before = 0;   // those of earlier chunks; constant while one runs
};

/// What a replay uploads to one rank's device memory.
struct Upload {
  Control control;
  Meeting meeting;
  u32 epochs[most_epochs];
  double scalars[most_scalars];  // [physical]
};

/// Host memory of one rank that its device can reach. Only the kernel at the end of a chunk writes it, so that commands never
/// wait for the bus. At most two chunks are on their way: each has its own report.
struct Window {
  struct alignas(128) Report {
    Control control;
    double scalars[most_scalars];
    u64 now;  // by the device's clock
  };
  alignas(128) u32 marks = 0;  // device to host: chunks ended, whose reports are complete
  u32 ended = 0;               // device to host: the chunk that ended a loop which repeats on the device
  alignas(128) u32 stop = 0;   // host to device
  Report report[2];            // [mark & 1]
};

// --- what a launch is told -----------------------------------------------------------------------------------------------
// Epochs are kept in device memory, counted up once a chunk; a launch adds its own, fixed distance from the chunk's start.
// So a captured launch stays right however often it is replayed, and no command has to count.

struct EpochRef {
  i32 index = 0;  // in Args::epochs
  u32 offset = 0;
};

struct FinishArgs {
  const Packet* packets = nullptr;  // [2][parts][values], written by the ranks
  EpochRef epoch;
  i32 parts = 0, values = 0;
  std::int16_t to[most_values] = {};  // physical scalars
  const u64* due = nullptr;           // [2] sums made late are not taken before, by this device's clock, in nanoseconds
};

struct AwaitArgs {
  const u32* flags = nullptr;  // [peers], written by them
  const u32* sent = nullptr;   // the word I sent with the same epoch, if everybody must agree on what it says
  EpochRef epoch;
  i32 peers = 0;
};

struct RowTo {
  double* to;
  i32 row, unused;
};

struct PutArgs {
  const double* rows = nullptr;
  const Segment* segments = nullptr;  // either few contiguous pieces,
  const RowTo* entries = nullptr;     // or single rows in increasing order,
  const i32* row_entries = nullptr;   //   [rows + 1] the first entry of each row
  u32* const* flags = nullptr;        // [peers] where to signal
  const u32* heard = nullptr;         // of a second hop: [heard_from] flags of the first one, whose requests to stop go along
  u32* sent = nullptr;                // where to keep the word for myself
  EpochRef epoch;
  i32 peers = 0, n_segments = 0, n_entries = 0, heard_from = 0;
  bool by_rows = false;    // each row is sent by the thread that computed it
  bool by_itself = false;  // the functor has sent what it stored
};

/// Tiles and blocks of a space, as kernels read them that sum in fixed order.
struct TileTables {
  const i32* rows = nullptr;      // [count + 1] first row of each tile
  const i32* block = nullptr;     // [count] the tile's block
  const i32* of_block = nullptr;  // [blocks + 1] first tile of each block
  i32 count = 0;
};

struct StartArgs {
  Packet* const* to = nullptr;  // [targets] everybody's packets
  EpochRef epoch;
  i32 targets = 0, parts = 0, place = 0;
  i32 slot = -1;
  bool tells_stop = false;  // a request to stop goes with the sums: only where all ranks see the same ones
  bool handed_on = false;   // the blocks' sums are left to a block of the next command (CollectArgs)
  u64* due = nullptr;       // [2] where FinishArgs looks, of sums made late; [2] by how much
  // sums in the order of the grid
  Packet* partials = nullptr;  // [values][stride], one a thread block
  i32 stride = 0;
  // sums in fixed order
  double* tile_sums = nullptr;  // [values][tiles]
  u32* tiles_done = nullptr;    // [blocks]
  TileTables tiles;
};

/// Rows of one task group, in chunks of block_threads / threads_a_row rows.
struct GroupArgs {
  i32 n_chunks = 0, n_hands = 0;
  Hand hand[most_hands];  // who computes which chunks
  bool one_range = true;
  i32 first = 0, last = 0;           // its rows;
  const RowRange* chunks = nullptr;  // else the ranges' chunks,
  const i32* rows = nullptr;         // or, where ranges are short, all rows
  i32 n_rows = 0;                    //   of which there are so many
  const i32* tiles = nullptr;        // sums in fixed order: its tiles, one a warp
  i32 n_tiles = 0;
  bool awaits = false;  // before the group
  bool sends = false;   // its rows may be among those to be sent
  bool puts = false;    // after the group all rows to be sent are sent
};

/// What a command of a traced replay did when, by its device's clock, in nanoseconds; 0: it did not.
struct Stamp {
  u64 begin = 0;     // it goes on, behind the reductions that it finishes and its exit test
  u64 end = 0;       // its last block is done
  u64 finished = 0;  // the sums of all ranks are there,
  u64 awaited = 0;   //   and their rows
  u64 sent = 0;      // its own rows have left,
  u64 started = 0;   //   and its sums
  u32 waited_reduction = 0, waited_halo = 0;
};

struct Args {
  Control* control = nullptr;
  double* scalars = nullptr;  // [physical]
  const u32* epochs = nullptr;
  double* history = nullptr;      // a ring
  const Pulse* engine = nullptr;  // of all ranks
  i32 ranks = 0;
  i32 command = 0, commands = 0;
  i32 iteration = 0;  // counted from the chunk's first
  u32 history_offset = 0, history_mask = 0;
  i32 n_finishes = 0, n_awaits = 0, n_puts = 0, n_groups = 0;
  i32 parts = 0;               // of all finishes
  i32 blocks = 0;              // that compute: all of the grid, but for one that collects the sums of the command before it
  i32 senders = 0;             // blocks that take part in sending: those with chunks of groups that send,
  bool all_send = false;       //   or all of them
  bool finishes_late = false;  // some of the sums that it finishes are made late
  bool calls_early = true;     // the next command's blocks may come while this one's compute
  FinishArgs finish[most_finishes];
  AwaitArgs await[most_awaits];
  PutArgs put[most_puts];
  GroupArgs group[most_groups];
  StartArgs start;
  Stamp* stamps = nullptr;  // [n_stamps], by place in the order of the replay; null: nobody asks
  i32 n_stamps = 0;
  i32 mute_at = -1;  // tests: in this iteration nothing is sent,
  i32 late_at = -1;  //   or the command dawdles
  u32 late_us = 0;   //   for so long; `traps`: it fails
};
constexpr u32 traps = ~0u;

/// What a block is told that adds up and sends the sums which the command before its own has handed on (collect.cuh). All of
/// it is that command's.
struct CollectArgs {
  Control* control = nullptr;
  const u32* epochs = nullptr;
  const Pulse* engine = nullptr;
  i32 ranks = 0;
  i32 command = 0, commands = 0, iteration = 0;
  i32 values = 0, blocks = 0;  // of each block; that hand in
  StartArgs start;
  Stamp* stamps = nullptr;
  i32 n_stamps = 0;
  i32 mute_at = -1;
};

/// What a kernel that stays reads of each command, in each iteration of a chunk. Behind it: functor and exit test.
struct StepHead {
  Args args;
  i32 kind = 0;       // of those that the kernel runs
  bool meets = true;  // its end is a meeting of all blocks; else the next step ends the reduction that this one starts
  // The reductions that it finishes, or the one that it starts, are added by each block for itself, from the packets of all
  // blocks: [values][stride], of which [2][blocks] are used. For one rank with few blocks.
  bool blocks_finish = false, blocks_start = false;
  i32 stride = 0;
};
constexpr int most_blocks_by_themselves = 160;  // with more it takes longer than to ask the one that collects

struct ResidentArgs {
  const void* steps = nullptr;  // [count][stride] in device memory
  i32 count = 0, n_epochs = 0;
  Upload* upload = nullptr;
};

/// A Get that reads a reduction finished by its own command takes the sum at hand, never what lies in memory.
SORDINO_HD constexpr i32 finished_code(int finish, int value) { return -2 - (finish * most_values + value); }

}  // namespace sordino::cuda
