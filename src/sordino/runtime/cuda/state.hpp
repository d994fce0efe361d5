// Inside the cuda engine: what it holds for each rank, and how its host threads wait. Not for users.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "sordino/base/arena.hpp"
#include "sordino/base/clock.hpp"
#include "sordino/runtime/cuda/arrivals.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/courier.hpp"
#include "sordino/runtime/cuda/dealing.hpp"
#include "sordino/runtime/cuda/engine.hpp"
#include "sordino/runtime/cuda/nccl.hpp"
#include "sordino/runtime/cuda/nvshmem.hpp"
#include "sordino/runtime/cuda/peers.hpp"
#include "sordino/runtime/cuda/wire.hpp"
#include "sordino/runtime/fault.hpp"
#include "sordino/runtime/hall_mail.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/runtime/row_port.hpp"
#include "sordino/runtime/threads.hpp"

namespace sordino::cuda {

/// Device tables for sending a vector's rows; the peers' addresses are known once all ranks have allocated it.
struct Route {
  bool ready = false;
  const Segment* segments = nullptr;
  const RowTo* entries = nullptr;
  const i32* row_entries = nullptr;
  u32* const* flags = nullptr;
  i32 peers = 0, n_segments = 0, n_entries = 0;
};

/// What goes to a peer, and comes from it, in one message each: rows, and behind them the flag, in device memory.
struct NcclPeer {
  int rank = 0;
  const double* outbox = nullptr;
  double* inbox = nullptr;
  i64 sent = 0, received = 0;  // bytes
  u32* received_flag = nullptr;
};

struct NcclRoute {
  std::vector<NcclPeer> peers;
  const Arrival* arrivals = nullptr;  // device table [peers]
  i32 most_rows = 0;                  // that one of them sends
};

/// A rank's own parts among the packets of an epoch.
struct PartsOfRank {
  int rank = 0;
  i32 first = 0, count = 0;
};

struct VectorMemory {
  double* rows = nullptr;
  double* copy_of = nullptr;  // the caller's memory, if commands cannot compute in it
  u32* flags = nullptr;       // [peers], one a line; written by them
  u32* sent = nullptr;
  Route route;
  NcclRoute by_nccl;
};

/// How what one rank sends reaches another.
enum class Link {
  memory,   // it is stored into the other's memory
  carried,  // it is stored into an outbox, and a courier brings it
  nccl,     // it is stored into an outbox, and NCCL's messages bring it
};

/// What others write to.
struct VectorAddress {
  double* rows = nullptr;
  u32* flags = nullptr;
};

struct ReductionMemory {
  Packet* packets = nullptr;                          // [2][parts][values]
  Packet* partials = nullptr;                         // [values][stride]
  Packet** to = nullptr;                              // device table [targets]
  double* tile_sums = nullptr;                        // [values][tiles], in fixed order
  u32* tiles_done = nullptr;                          // [blocks]
  u64* due = nullptr;                                 // [3] of sums made late: StartArgs
  i32 parts = 0, values = 0, place = 0, targets = 0;  // a part is a rank's sum; in fixed order, a block's
  i32 own_parts = 0;                                  // from `place` on
  i32 pushes = 0;                    // addresses that own parts are pushed to: an outbox serves all who cannot be reached
  std::vector<PartsOfRank> senders;  // over NCCL: all ranks
  const Packet* outbox = nullptr;    // of sums by NCCL: [2][parts][values] on the device, 0 but for what is this rank's
  bool connected = false;
};

/// Row ranges of a task group, as a kernel reads them.
struct RowLists {
  i32 chunks = 0, first = 0, last = 0, n_rows = 0;
  const RowRange* chunk_list = nullptr;
  const i32* row_list = nullptr;
  const i32* tile_list = nullptr;
  i32 n_tiles = 0;
};

/// An event per epoch parity, for ranks that share a device.
struct Channel {
  cudaEvent_t event[2] = {};
  std::atomic<u64> issued{0};
};

/// Device memory that pieces are taken from.
struct SharedBlock {
  char* memory = nullptr;
  std::size_t bytes = 0, used = 0;
};

/// Pinned memory for a vector's own rows and ghosts.
struct TwinMemory {
  double* words = nullptr;
  cudaEvent_t copied = nullptr;  // what was started last
};

struct RankState {
  static constexpr std::size_t most_names = 4096;

  int device = 0, index = 0;
  int multiprocessors = 0, grid_limit = 0;  // grid_limit: blocks that can ever be resident
  Pace pace;
  cudaStream_t stream = nullptr;
  cudaStream_t courier = nullptr;  // of copies from other ranks' outboxes
  cudaStream_t copies = nullptr;   // between vectors and their twins, and of rows from other ranks
  Upload* control = nullptr;       // device
  Upload* staging = nullptr;       // pinned
  Window* window = nullptr;        // pinned
  Pulse* pulse = nullptr;          // of all ranks, as the device sees it
  u32 marks = 0;                   // chunks issued
  u32 messages = 0;                // groups of NCCL's messages issued
  bool mute = false;               // tests: it issues none of them any more
  // Peers read entries while the owner appends others, so these tables never move.
  std::vector<VectorMemory> vectors;        // [physical]
  std::map<int, TwinMemory> twins;          // by logical name
  std::vector<ReductionMemory> reductions;  // [slot]
  std::vector<std::unique_ptr<Channel>> vector_channels, reduction_channels;
  std::map<std::pair<int, std::vector<std::pair<i32, i32>>>, RowLists> row_lists;   // by threads a row and ranges
  std::map<std::pair<int, std::vector<std::pair<i32, i32>>>, RowLists> tile_lists;  // by space and ranges
  std::map<int, TileTables> tile_tables;                                            // by space
  std::vector<void*> tables;  // device memory that only goes with the engine
  // Given out of it. The driver hands out memory in such units, and most names are far smaller.
  sordino::Arena kept{[this](i64 bytes) { return take_piece(bytes); }, i64(2) << 20, i64(64) << 20};
  std::vector<void*> boxes;                     // pinned: outboxes, and inboxes of what comes over a transport
  std::vector<SharedBlock> blocks;              // that ranks of other processes map
  std::map<std::pair<int, int>, char*> mapped;  // by rank of another process and its block
  i64 bytes = 0;
  Counters counters;
  Mailbox mail;
  std::atomic<u64> letters{0};  // that have come
  u64 attended = 0;             // those of them that the rank's collectives have seen

  // Pinned, of programs; kept as long as the engine. The first piece lies with the others' in one.
  static constexpr i64 notes_at_once = i64(16) << 10;
  char* spare_notes = nullptr;
  sordino::Arena notes{[this](i64 bytes) { return take_notes(bytes); }, notes_at_once};

  char* take_piece(i64 bytes);
  char* take_notes(i64 bytes);
  RankState() {
    vectors.reserve(most_names);
    reductions.reserve(most_names);
    vector_channels.reserve(most_names);
    reduction_channels.reserve(most_names);
  }
};

struct State {
  State(CudaEngine& engine, const Options& options, std::unique_ptr<Hall> hall, std::unique_ptr<Transport> transport);
  ~State();
  void build(std::unique_ptr<Transport> transport);
  void set_up(RankState& r, int index, int device);
  void release();
  void end_team();

  // --- memory (memory.cpp) ------------------------------------------------------------------------------------------------
  void* take_memory(RankState& r, std::size_t bytes, const std::string& what);  // device memory of the rank; `what` for errors
  /// The same, kept as long as the engine: many arrays lie in one piece.
  char* take_kept(RankState& r, std::size_t bytes, const std::string& what);
  /// Memory of a name, kept as long as the engine; in blocks that other processes can map, if their ranks write to it.
  char* take_for_name(RankState& r, std::size_t bytes, bool others_write, const std::string& what, BlockPlace& place);
  /// A device copy of a host table, kept as long as the engine.
  template <class T>
  T* table(RankState& r, const std::vector<T>& host, const std::string& what) {
    if (host.empty()) return nullptr;
    void* p = take_kept(r, host.size() * sizeof(T), what);
    copy_in(r, p, host.data(), host.size() * sizeof(T));
    return static_cast<T*>(p);
  }
  void copy_in(RankState& r, void* to, const void* from, std::size_t bytes);
  void free_memory(RankState& r, bool others_map);
  void* take_pinned(RankState& r, std::size_t bytes);  // that devices reach; goes with the engine

  // --- ways between ranks (links.cpp) ---------------------------------------------------------------------------------------
  Link link(int from, int to) const;
  Carrier carrier(int from, int to) const;
  bool by_memory() const { return options.links == Links::automatic || options.links == Links::memory; }
  bool maps_memory() const;  // of other processes of this host
  void find_ways();          // between the devices of this process
  bool needs_courier() const;
  void check_sums() const;            // throws where they cannot be had in the way that is asked for
  bool sends_placed(int rank) const;  // rows between here and a rank of another process go over MPI from GPU to GPU
  VectorAddress outbox(RankState& r, Rank& rank, int physical, const ExchangePeer& peer);
  void expect_rows(RankState& r, Rank& rank, int physical, int peer);
  Packet* outbox(RankState& r, Rank& rank, int slot, const std::vector<int>& to);
  Packet* summed_outbox(RankState& r, Rank& rank, int slot);  // of sums by the host
  void expect_sums(RankState& r, Rank& rank, int slot);
  /// Tells other hosts where a rank has something, and which parts of a reduction it sends.
  void tell_place(int rank, Published what, int index, const BlockPlace& place);
  /// From the first process to all: `make` is called there. All meet for it.
  Invitation invite(const std::function<Invitation()>& make);

  // --- NCCL (nccl_links.cpp) ------------------------------------------------------------------------------------------------
  void need_a_device_each(const std::string& library) const;  // throws where ranks share one
  void join_nccl();                                           // the communicator of all ranks
  void connect_nccl();                                        // every rank with every other
  void be_patient(double since, const char* library) const;   // throws where it makes no sense any more to wait for the others
  VectorAddress nccl_outbox(RankState& r, Rank& rank, int physical, int peer);
  void make_arrivals(RankState& r, Rank& rank, int physical);
  void find_senders(RankState& r, Rank& rank, int slot);
  Packet* nccl_outbox(RankState& r, int slot);  // of sums by NCCL
  void drain(RankState& r);                     // waits for its stream; what keeps it from ending is ended after a fault
  void abort_nccl();                            // all ranks of this process, so that their streams end
  void leave_nccl(bool alone);                  // alone: some of the others may still be at work

  // --- NVSHMEM (nvshmem_links.cpp) ------------------------------------------------------------------------------------------
  void join_nvshmem();  // and takes the arena, in which lies all that others write to
  char* take_of_arena(RankState& r, std::size_t bytes, const std::string& what, BlockPlace& place);
  double* put_by_nvshmem(Courier::RowsBox& box, RankState& r, const ExchangePeer& peer);  // where the rank stores its rows
  void put_by_nvshmem(Courier::SumsBox& box, RankState& r);
  void put_rows(const Courier::RowsBox& box, u32 word);
  void put_sums(const Courier::SumsBox& box, const Packet* packets, i32 first);
  void leave_nvshmem(bool alone);  // alone: some of the others may still store here

  // --- several processes (processes.cpp) ------------------------------------------------------------------------------------
  bool several_processes() const { return hall && hall->processes() > 1; }
  void meet_processes();                             // throws what one of them said
  void introduce_devices();                          // no two processes use one
  void join_processes();                             // all can do what is asked, and reach each other; throws what one cannot
  char* mapped(RankState& r, int owner, int block);  // memory of another process's rank, as r's device sees it
  bool take_mail();                                  // of other processes; whether any moved
  void attend();                                     // looks after mail, and whether all processes live; does not wait
  void post(int from, int to, i64 tag, std::vector<std::byte> data);
  void send_rest();                 // of the mail, as long as somebody takes it
  void leave_mapped(RankState& r);  // unmaps all of it
  void stay_for_neighbours();       // at the end of a run, if this process tells other hosts of them

  // --- connections (connect.cpp): addresses in other ranks' memory, collected at compile time -------------------------------
  BlockPlace place_of(RankState& r, int rank, Published what, int index);  // another process's; may wait for word of it
  VectorAddress vector_of(RankState& r, int rank, int physical);
  Packet* packets_of(RankState& r, int rank, int slot);
  const Route& route(Rank& rank, int physical);
  const ReductionMemory& reduction(Rank& rank, int slot);
  std::vector<Packet*> targets_of(RankState& r, Rank& rank, int slot);
  const RowLists& row_lists(RankState& r, const std::vector<RowRange>& ranges, int threads_a_row);
  const RowLists& tile_list(RankState& r, const Space& space, const std::vector<RowRange>& ranges);
  int sender_of(const Rank& rank, int slot, int part);                  // the rank that sends this part of a reduction
  std::string missing_part(Rank& rank, int slot, int part, u32 epoch);  // in words
  const TileTables& tile_tables(RankState& r, const Space& space);

  // --- ranks that share a device (share.cpp) --------------------------------------------------------------------------------
  void add_channel(std::vector<std::unique_ptr<Channel>>& channels, RankState& r);
  void signal(RankState& r, Channel& mine);
  void follow(Rank& rank, const Channel& mine, int peer, std::vector<std::unique_ptr<Channel>> RankState::* channels, int id);

  // --- waiting and failing (state.cpp) --------------------------------------------------------------------------------------
  /// Until ready(), or a fault, or nobody having made progress for too long.
  template <class Ready>
  void wait(Rank& rank, const Ready& ready, const std::function<std::string()>& what);
  [[noreturn]] void patience_lost(Rank& rank, const std::string& what);
  /// Lets the rank's collectives go on if a letter has come.
  void attend(const Rank& rank) {
    RankState& r = of(rank);
    u64 came = r.letters.load(std::memory_order_acquire);
    if (std::exchange(r.attended, came) == came) return;
    if (Attendant* a = engine.attendant(rank.id() - hall->first_rank())) a->advance();
  }
  void beat(const RankState& r) { std::atomic_ref(hall->pulse().beats[r.index].host).fetch_add(1, std::memory_order_relaxed); }
  void raise(const Error& error);
  [[noreturn]] void fail_as_peers() { throw PeerFailed(hall->error()); }
  [[noreturn]] void tell_cause();  // to the caller of run()
  /// Ranks that wait for each other in graphs that go on by themselves hang if they share a device.
  bool has_device_each() const { return ranks.size() == devices.size(); }
  /// Whether one kernel may stay for a chunk of a loop's iterations.
  bool may_stay() const {
    return options.looping == Looping::resident && order() == SumOrder::grid && has_device_each() && !nccl;
  }
  /// Not where something else than the launch itself says that sums have left: an event, or a message behind it.
  bool may_hand_on() const { return options.hand_on && order() == SumOrder::grid && !shared && !nccl; }
  SumOrder order() const { return options.deterministic ? SumOrder::fixed : SumOrder::grid; }
  RankState& of(const Rank& r) { return local(r.id()); }
  RankState& local(int rank) { return *ranks[rank - hall->first_rank()]; }

  Progress& progress() { return engine.progress_; }
  Trace& trace() { return engine.trace_; }

  CudaEngine& engine;
  Options options;
  std::vector<int> devices;
  bool shared = false;
  std::unique_ptr<Hall> hall;      // where all ranks meet
  std::unique_ptr<HallMail> mail;  // to other processes of this host, if there are any
  Reach reach;                     // which devices reach which
  std::unique_ptr<Courier> courier;
  std::unique_ptr<Nccl> nccl;     // if it carries what ranks send
  Nvshmem* nvshmem = nullptr;     // likewise; the process's
  Arena* arena = nullptr;         // of it, for this engine
  std::unique_ptr<RowPort> rows;  // between ranks, outside of recordings
  bool pulse_is_pinned = false;
  void* pinned = nullptr;  // where staging and windows of all ranks lie
  std::vector<std::unique_ptr<RankState>> ranks;
  std::vector<std::unique_ptr<Rank>> public_ranks;  // what a job sees of them
  std::atomic<bool> told{false};                    // the cause of a failure, to a caller
  std::unique_ptr<ThreadTeam> team;
  std::mutex mutex;               // tables that peers read, mail
  std::atomic<bool> lost{false};  // a rank or device did not come back: freeing what it uses would wait, or hurt
};

template <class Ready>
void State::wait(Rank& rank, const Ready& ready, const std::function<std::string()>& what) {
  if (ready()) return;
  hall->set_waiting(rank.id(), true);
  double calm_since = seconds_now();
  u64 beats = hall->heartbeats();
  for (u64 n = 1;; n++) {
    if (ready()) break;
    if (hall->raised()) fail_as_peers();
    attend(rank);
    rank.go_on();
    if (n < 2000) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    attend();
    if (n % 64) continue;
    double t = seconds_now();
    if (u64 b = hall->heartbeats(); b != beats) {
      beats = b;
      calm_since = t;
    } else if (options.timeout > 0 && t - calm_since > options.timeout + 0.3) {  // devices, which know more, complain first
      patience_lost(rank, what());
    }
  }
  hall->set_waiting(rank.id(), false);
}

}  // namespace sordino::cuda
