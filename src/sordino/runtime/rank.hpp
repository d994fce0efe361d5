// What an SPMD program sees of its rank: vectors, scalars, and commands that are recorded once and replayed.
#pragma once
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/runtime/applied.hpp"
#include "sordino/runtime/device_task.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/runtime/epilogues.hpp"
#include "sordino/runtime/replay.hpp"
#include "sordino/runtime/space.hpp"
#include "sordino/runtime/twin.hpp"

namespace sordino {

/// `count` own rows of a vector, from row `first`.
struct OwnRows {
  Vec v;
  i32 first, count;
};

/// Own rows that are sent or received outside of recordings (comm/communicator.hpp).
struct RowTransfer {
  OwnRows rows;
  bool receives = false;
};

struct Rotation {
  std::vector<std::vector<Vec>> vectors = {};
  std::vector<std::vector<Scal>> scalars = {};
};

struct VectorInfo {
  std::string name;
  int space = -1;
  const Exchange* exchange = nullptr;  // what push() sends; null: own rows only
  i64 length = 0;                      // values of storage: own rows and ghosts
  double* callers = nullptr;           // storage that the caller keeps; null: the engine's
  Permission permission = Permission::read_write;
};

namespace detail {
/// Where a vector that a command uses has its words: in the command's rows, two in each, or anywhere.
enum class Lies { in_rows, in_numbers, elsewhere };
}  // namespace detail

struct Reduction {
  std::vector<int> to;  // logical scalars
  int space = -1;
  u32 started = 0, finished = 0;  // epochs
  bool joins = false;             // its sums travel with those of another (Join)
  int values() const { return int(to.size()); }
};

class Rank {
 public:
  Rank(Engine& engine, int rank);
  Rank(const Rank&) = delete;
  ~Rank();

  int id() const { return rank_; }
  int size() const { return engine_.size(); }
  Engine& engine() { return engine_; }

  // --- names ------------------------------------------------------------------------------------------------------------
  int add_space(Space space);
  const Space& space(int id) const { return spaces_[id]; }
  /// A zeroed vector on a space; with an exchange, one that can be pushed and read through Ghost fields.
  Vec vector(std::string name, int space, const Exchange* exchange = nullptr) {
    return vector(std::move(name), space, exchange, nullptr);
  }
  /// A vector whose storage is the caller's: own rows, and behind them the exchange's ghosts, [rows + ghosts] doubles, where
  /// the engine computes (device memory of the rank's GPU on engine cuda). Nothing is copied; it is neither zeroed nor freed,
  /// and must outlive the engine's use of it. What the caller's kernels still write: cuda::CudaEngine::follow(). Where engine
  /// cuda cannot compute (memory of the host or another GPU, at no multiple of 16 bytes, or that other ranks must store into
  /// and do not reach), it computes on a copy: each replay first copies the own rows of what it touches, then those of what it
  /// writes back, and books that as Ledger::copied_bytes; ghosts are then the engine's.
  Vec wrap(std::string name, int space, double* storage, const Exchange* exchange = nullptr);
  /// From now on, recording a command that does something else with the vector throws: writes one that is to be read only, or
  /// reads one that is to be written only; so do store() and fetch(). What neighbours send is stored into its ghosts all the
  /// same, and read() and write() go on. Vectors that trade places have the same permission.
  void permit(Vec v, Permission permission) { vectors_[v.id].permission = permission; }
  Scal scalar(std::string name) { return scalar(std::move(name), std::numeric_limits<double>::quiet_NaN(), false); }
  Scal scalar(std::string name, double value) { return scalar(std::move(name), value, true); }

  // --- commands, inside record() or loop() --------------------------------------------------------------------------------
  // Commands of a queue run in order; those of different queues where neither touches what the other writes, nor was told to
  // come after() it, run at the same time.
  template <class F, class... E>
  Event run(F functor, E... epilogues) {
    return record_command(functor, space_of_fields, nullptr, epilogues...);
  }
  /// As run(), over the rows of `split`: those of `first` need no ghosts. For operators.
  template <class F, class... E>
  Event run_split(F functor, const Split& split, E... epilogues) {
    return record_command(functor, space_of_fields, &split, epilogues...);
  }
  /// As run(), over the rows of `space` whatever the functor's vectors are: those on other spaces are its Foreign fields.
  template <class F, class... E>
  Event run_over(int space, F functor, E... epilogues) {
    return record_command(functor, space, nullptr, epilogues...);
  }
  template <class F, class... E>
  Event run_split_over(int space, F functor, const Split& split, E... epilogues) {
    return record_command(functor, space, &split, epilogues...);
  }
  /// User code on the host (host_task.hpp), as a command among the others.
  template <class... E>
  Event host(HostTask task, E... epilogues) {
    Command c = host_command(std::move(task));
    (add_epilogue(c, epilogues), ...);
    return commit(std::move(c), nullptr, 0);
  }
  /// Kernels that the caller launches (device_task.hpp), as a command among the others.
  template <class... E>
  Event device(DeviceTask task, E... epilogues) {
    Command c = device_command(std::move(task));
    (add_epilogue(c, epilogues), ...);
    return commit(std::move(c), &at_once(), 0);
  }
  /// Copies the own rows of `from` to those of `to`, of the same space, where the engine computes: 16 bytes a row, no host, no
  /// synchronization. Ghosts stay what they are; push(to) as an epilogue sends the copy.
  template <class... E>
  Event copy(Vec from, Vec to, E... epilogues) {
    return run(CopyRows{from, to}, epilogues...);
  }
  /// Copies own rows to those of `to` from row `first`, of any space of this rank; other rows of `to` keep their values.
  /// Throws bad_argument where there are no such rows, and if they overlap within one vector.
  template <class... E>
  Event copy(OwnRows from, Vec to, i32 first, E... epilogues) {
    require_parts(from, to, first);
    Split rows{{{first, first + from.count}}, {}};
    return run_split_over(vectors_[to.id].space, CopyPart{from.v, to, first - from.first, from.count}, rows, epilogues...);
  }
  /// y = A x for a row functor (see applied.hpp), with dot products of its result taken from registers.
  template <class RowFunctor>
  void apply_rows(RowFunctor f, const Split* split, Vec y, const StartDots& epilogue);
  /// The command just recorded also pushes v.
  void push_last(Vec v);
  /// Ends a reduction with nothing to hide it.
  void wait(Scal s);
  /// Starts dot products that no other command can carry: dots(dot(r, r) >> rr). One to four of them; two or
  /// three where complex ones are among them.
  template <class... D>
  void dots(D... d) {
    dots_command(StartDots{{d...}});
  }
  /// Ends the loop on all ranks if the test says so; joins the head of the next command.
  template <class T>
  void exit_if(T test) {
    make_pending_test();
    pending_test_ = std::make_shared<TestOf<T>>(test);
    collect_test_gets(test);
  }
  /// Commands of `body` run in iterations k-1, 2k-1, ... only.
  template <class B>
  void when(int k, B body) {
    make_pending_test();  // it is made in every iteration
    every_ = k;
    body();
    make_pending_test();
    every_ = 0;
  }
  /// Commands of `body` go to another in-order queue; hazards between queues follow from the fields' types.
  template <class B>
  auto on(int queue, B body) {
    struct Back {
      int& queue;
      ~Back() { queue = 0; }
    } back{queue_ = queue};
    return body();
  }

  // --- recordings ---------------------------------------------------------------------------------------------------------
  /// Runs the body once, to record it. Collective: all ranks record the same commands in the same order. Where they do not, the
  /// first replay or rehearsal of what sends anything throws bad_argument on all ranks, before it runs (runtime/accounts.hpp).
  template <class B>
  Recorded record(B body) {
    return record_body({}, {}, body);
  }
  /// `steps`: as how many iterations one of the loop counts where progress is told (Progress). Outcome counts the loop's own.
  template <class B>
  Recorded loop(const Rotation& rotation, B body, int steps = 1) {
    Recording empty;
    empty.is_loop = true;
    empty.steps = steps;
    return record_body(std::move(empty), rotation, body);
  }
  /// Replays; a loop for at most `max` iterations. What a loop carried to its next iteration is received and dropped.
  /// Afterwards names mean what they meant in the body that exited, or what the next body would have seen.
  Outcome replay(Recorded& recorded, int max = 1) { return start(recorded, max).wait(); }
  /// As replay(), of a loop that is to go on: unless it has exited, what it carried to its next iteration stays under way. The
  /// next replay of it begins with that, or drop_carried() receives it; what is replayed meanwhile touches none of it.
  Outcome replay_stretch(Recorded& loop, int max);
  /// Receives and drops what a stretch of this loop left under way.
  void drop_carried(Recorded& loop) { drain(loop); }
  /// The same without waiting for its end: the rank does something else until it calls wait() of what this returns
  /// (runtime/replay.hpp). Collective, as replay(): it compiles where that is needed, and may meet the other ranks for it.
  /// Until the replay has been waited for, all else that uses this rank's names (vectors, scalars, reading and writing them,
  /// recording, starting another replay) throws bad_argument; host data may be sent and received. What the recording uses must
  /// live so long, the Recorded itself excepted.
  Replay start(Recorded& recorded, int max = 1);
  /// Forgets rotations: every name means its own buffer again (contents are unspecified where a rotation moved them).
  void reset_names();

  // --- data, between recordings ---------------------------------------------------------------------------------------------
  void write(Vec v, const double* host);  // [rows]; on GPUs, memory of any of them will do as well
  void read(Vec v, double* host);         // [rows]; likewise
  void set(Scal s, double value);
  double get(Scal s);

  // --- host twins, between recordings ---------------------------------------------------------------------------------------
  // Values travel only by these calls, on every engine; on the model they take no time. They throw bad_argument while a replay
  // is under way, while commands are recorded, in host tasks, and where the vector's permission is against it.
  /// The host twin of a vector: [rows] doubles of the rank's own, zero at first; pinned on engine cuda, which then copies at
  /// the full rate of the bus and beside commands. Made when first asked for, which is for a time when no other rank waits for
  /// this one, as making a vector; then it stays where it is, and with the name, whatever rotations do, as long as the engine.
  /// Host tasks on GPUs see the same memory: a replay with one that uses the vector leaves anything there.
  double* twin(Vec v);
  /// Copies own rows from the vector to its twin, and back; returns when they are there. Behind all that the rank has in its
  /// stream (cuda::CudaEngine::follow); other ranks have no part in it.
  void fetch(Vec v) { start_fetch(v).wait(); }
  void store(Vec v) { start_store(v).wait(); }
  /// The same without waiting (runtime/twin.hpp). On engine cuda a replay of what uses other vectors goes on beside the copy;
  /// on the others it has ended when this returns.
  Transfer start_fetch(Vec v);
  Transfer start_store(Vec v);
  /// Of the host's memory that twins take, ghosts included, for which host tasks have room there.
  i64 twin_bytes() const;

  std::vector<double> history;  // what the exit tests' value() said, one an iteration
  Ledger ledger;

  // --- for engines ------------------------------------------------------------------------------------------------------
  const std::vector<VectorInfo>& vectors() const { return vectors_; }
  std::vector<Reduction>& reductions() { return reductions_; }
  const std::vector<Reduction>& reductions() const { return reductions_; }
  const std::vector<std::string>& scalar_names() const { return scalar_names_; }
  std::vector<double> scalar_values;  // [physical]; the truth on CPU engines
  std::vector<char> scalar_known;     // [physical]
  std::vector<u32> pushed, seen;      // [physical vector] epochs of its exchange
  bool stop_seen = false;             // a stop request arrived with a flag
  bool stop_to_hand_on = false;       // ... with one of a first hop: not all ranks know of it yet
  const std::vector<int>& vector_map() const { return vector_map_; }
  const std::vector<int>& scalar_map() const { return scalar_map_; }
  int reduction_of(int scalar) const { return reduction_of_[scalar]; }
  /// A run's job on this rank; throws if it leaves a replay under way.
  void run_job(const std::function<void(Rank&)>& job);
  /// After the job, when all know why it failed, if it did: what it left under way is dropped.
  void leave_job();
  /// Throws if a replay is under way; `what` the caller wants to do meanwhile.
  void check_idle(const char* what) const;
  bool is_inside_replay() const { return under_way_->inside; }
  Inside enter_replay() { return Inside(*under_way_); }
  bool replays_aside() const { return under_way_->current != 0 && !under_way_->inside; }
  /// Whoever keeps the rank waiting lets the replay go on that it has under way; whether it moved.
  bool go_on();
  int compilations() const { return compilations_; }  // of recordings so far, each in one order of the names

  // --- for comm/: rows that are sent and received (row_transfers.cpp) -------------------------------------------------------
  /// From now until it is ended whatever else would touch the vector throws bad_argument, other transfers of rows excepted that
  /// do not overlap, or are both sent. Throws bad_argument where there are no such rows, where reading or writing the vector
  /// would be refused now, where its permission is against it, and in host tasks. Returns what it is called.
  u64 begin_transfer(const RowTransfer& transfer);
  void end_transfer(u64 transfer) { transfers_.erase(transfer); }

  // --- for tests ----------------------------------------------------------------------------------------------------------
  std::function<void(Recording&)> mutate;  // changes each recording before it is checked
  bool checking = true;

 private:
  Vec vector(std::string name, int space, const Exchange* exchange, double* callers);
  static constexpr int space_of_fields = -1;  // the command's rows are those of its fields' space
  template <class F, class... E>
  Event record_command(F functor, int space, const Split* split, E... epilogues);
  template <class F>
  Command scan(F& functor, int space);
  template <class T>
  void collect_test_gets(T& test);
  void add_epilogue(Command& c, const Start& s);
  void add_epilogue(Command& c, const Join& j);
  void add_epilogue(Command& c, const Push& p) {
    if (!is_whole(p.v.id)) c.pushes.push_back(p.v.id);
  }
  void add_epilogue(Command& c, const After& a);
  void start_reduction(Command& c, const std::vector<Scal>& to);
  void require_carriers() const;
  template <int K, class RowFunctor>
  void apply_turned(RowFunctor f, const Split* split, Vec y, const StartDots& epilogue);
  void use_vector(Command& c, int id, Access access, detail::Lies lies, std::size_t element = 8);  // bytes a row
  // On a replicated space a vector without an exchange is there in full on every rank: nothing to send or to wait for.
  bool is_whole(int v) const { return !vectors_[v].exchange && spaces_[vectors_[v].space].replicated; }
  bool is_gathered(int v) const { return vectors_[v].exchange && spaces_[vectors_[v].space].replicated; }
  void dots_command(const StartDots& s);
  Command host_command(HostTask task);
  Command device_command(DeviceTask task);
  static const Split& at_once();
  void use_all(Command& c, const std::vector<HostTask::Use>& uses, const std::vector<Get>& gets, const std::vector<Scal>& puts);
  Event commit(Command c, const Split* split, double row_flops);
  void require_permissions(const Command& c) const;
  void require_parts(const OwnRows& from, Vec to, i32 first) const;
  const Exchange* common_exchange(const std::vector<int>& vectors, int space) const;
  Scal scalar(std::string name, double value, bool known);
  template <class B>
  Recorded record_body(Recording empty, const Rotation& rotation, B& body) {
    begin_recording(std::move(empty));
    try {
      body();
      return end_recording(rotation);
    } catch (...) {
      forget_recording();
      throw;
    }
  }
  void begin_recording(Recording empty);
  Recorded end_recording(const Rotation& rotation);
  void forget_recording();
  void make_pending_test();
  void add_rotation(Recording& r, const Rotation& rotation) const;
  void derive_dependences(Recording& r) const;
  Carried carried() const;
  friend class Replay;
  bool test_replay();
  Outcome finish_replay();
  void give_up_replay();
  void drain(Recorded& recorded);
  friend class Rehearsal;
  Recorded::Compiled& compiled(Recorded& recorded);
  Recorded& drain_of(Recorded& recorded, const Carried& found) const;
  const std::shared_ptr<Program>& settled(Recorded& recorded);
  void settle(const Settling& next);
  // host twins (twin.cpp)
  friend class Transfer;
  std::shared_ptr<Twin> twin_of(Vec v);
  Transfer start_copy(Vec v, bool fetches);
  bool test_copy(Twin& twin);
  void finish_copy(Twin& twin);
  bool is_still_copied(Twin& twin) const;
  void require_at_rest(Vec v, const char* what) const;     // throws if a copy of it, or a transfer of its rows, is under way
  void require_not_copied(Vec v, const char* what) const;  // to its twin, or from there
  void require_at_rest(const Recording& r) const;
  void require_no_copies(const char* what) const;
  void forget_copies();

  Engine& engine_;
  int rank_;
  std::vector<Space> spaces_;
  std::vector<VectorInfo> vectors_;
  std::vector<std::string> scalar_names_;
  std::vector<int> vector_map_, scalar_map_, reduction_of_;
  std::vector<Reduction> reductions_;
  // while recording
  std::shared_ptr<Recording> recording_;
  int recordings_ = 0;  // begun so far
  std::shared_ptr<const Test> pending_test_;
  std::vector<int> test_gets_, test_finishes_;
  double row_bytes_ = 0;
  int queue_ = 0, every_ = 0;
  std::map<int, int> joining_;  // by queue: a reduction whose sums wait for one to travel with

  int compilations_ = 0;
  std::set<int> unsettled_;                     // what earlier replays left
  std::map<int, std::shared_ptr<Twin>> twins_;  // by logical name
  std::map<u64, RowTransfer> transfers_;        // under way
  u64 transfers_begun_ = 0;
  std::shared_ptr<UnderWay> under_way_;
};

}  // namespace sordino

#include "sordino/runtime/rank.inl"
