// Host data between ranks, outside recorded loops: setup, gathered results, small reductions; and rows of vectors, between two
// ranks. Works between threads, processes and the model's ranks alike. In loops use Rank::start and finish, which move data
// without the host.
//
// Every collective is there twice: x(...) waits, start_x(...) returns a Pending whose get() waits; x(...) is
// start_x(...).get(). All ranks call the same collectives of a channel in the same order; they may finish them in any order,
// and several may be in flight. What is under way goes on whenever its rank waits for anything (on cuda also for its device),
// tests anything, or begins a recorded command on the host engine; the model lets it go on as soon as a message comes.
//
// Errors. Ranks that disagree (another collective, root, type or number of values to reduce) throw bad_argument with one
// sentence about two of them as soon as a message shows it, and all others fail with the same sentence. Where no message does,
// a rank that never takes part say, the one that is waited for is named after the engine's timeout; the model does it at once.
// Values. Sums and products of whole numbers that overflow wrap around in their type; min and max are NaN as soon as one value
// is, and -0 is less than 0. That is so in every algorithm, MPI's own included. The ways messages take, and what they cost:
// algorithms/algorithms.hpp.
#pragma once
#include <concepts>
#include <cstring>
#include <memory>
#include <vector>

#include "sordino/comm/all_reduce.hpp"
#include "sordino/comm/desk.hpp"
#include "sordino/comm/folding.hpp"
#include "sordino/comm/pending.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// Values that can be sent: their bytes are all there is to them.
template <class T>
concept Sendable = std::is_trivially_copyable_v<T> && !std::same_as<T, bool>;

class Communicator {
 public:
  template <class T>
  using Lists = std::vector<std::vector<T>>;  // one for each rank, of any length

  /// `channel` keeps the messages of one use apart from those of another; the same number on all ranks. 0 to 15 are the
  /// library's own, 16 to 2047 are yours. Two
  /// communicators of a rank with the same channel are one.
  Communicator(Rank& rank, int channel);

  int rank() const { return rank_.id(); }
  int size() const { return rank_.size(); }

  // --- between two ranks ----------------------------------------------------------------------------------------------------
  /// Does not wait. Messages between two ranks on one channel arrive in order.
  template <Sendable T>
  void send(int to, const std::vector<T>& values) {
    check_rank(to);
    rank_.engine().post(rank_, to, channel_, bytes_of(values));
  }
  template <Sendable T>
  std::vector<T> receive(int from) {
    return start_receive<T>(from).get();
  }
  /// Messages go to receives in the order in which these were started, whichever is finished first.
  template <Sendable T>
  Pending<std::vector<T>> start_receive(int from) {
    check_rank(from);
    auto& desk = Desk::of(rank_);
    auto parcel = desk.expect(from, channel_);
    return Pending<std::vector<T>>(
        [&desk, parcel, from] {
          desk.wait(*parcel, [from] { return "data of rank " + std::to_string(from); });
          return values_of<T>(parcel->data);
        },
        [&desk, parcel] {
          desk.look();
          return parcel->here.load(std::memory_order_acquire);
        });
  }

  // --- rows of vectors, between two ranks -----------------------------------------------------------------------------------
  // Outside of recordings, from and into the memory that commands use, on every engine (in recordings: comm/traffic.hpp). They
  // come behind what the rank has in its stream (cuda::CudaEngine::follow), and what follows in there does not wait for them:
  // until get() has returned, the rows of a send must not change, those of a receive not be used. Replays of what uses other
  // vectors go on meanwhile; what would touch this one throws bad_argument, as does starting a transfer while a replay is under
  // way, while commands are recorded, in host tasks, of rows that are not there, that another transfer receives or, if they are
  // received, sends, and against the vector's permission. Rows and host data of a channel do not get in each other's way.
  //
  // Between ranks of one process of the engines host and cuda whose memory the other one reaches, the receiver copies the rows
  // from there, once it has started to receive and whenever it waits for anything or tests it: get() of the send waits for
  // that, and so does send(). Ranks that send to each other start one of both first. Elsewhere rows travel as host data, on
  // GPUs through pinned memory, and sending waits for the copy to the host alone. Ledger::carried says what brought them.
  //
  // Throws bad_argument on the receiver, and so on all, if it expects another number of rows than come.
  void send(int to, OwnRows rows) { start_send(to, rows).get(); }
  Pending<void> start_send(int to, OwnRows rows);
  void receive(int from, OwnRows rows) { start_receive(from, rows).get(); }
  Pending<void> start_receive(int from, OwnRows rows);

  // --- all ranks ------------------------------------------------------------------------------------------------------------
  /// Returns when all ranks have called it. ceil(log2 P) messages a rank.
  void barrier() { start_barrier().get(); }
  Pending<void> start_barrier();

  /// The root's values, on every rank; what others pass is not looked at. P - 1 messages in all, depth log4 P.
  template <Sendable T>
  std::vector<T> broadcast(const std::vector<T>& values, int root) {
    return start_broadcast(values, root).get();
  }
  template <Sendable T>
  Pending<std::vector<T>> start_broadcast(const std::vector<T>& values, int root) {
    return list<T>(begin({.kind = Collective::broadcast, .type = scalar_of<T>(), .root = root},
                         rank() == root ? bytes_of(values) : Bytes()));
  }

  /// Values of all ranks, folded, on the root; nothing elsewhere. P - 1 messages in all, depth log2 P. Reproducible: ranks are
  /// folded along a binomial tree from the root, in the order root, root + 1, ...
  template <Foldable T>
  std::vector<T> reduce(const std::vector<T>& values, int root, Fold fold = Fold::sum) {
    return start_reduce(values, root, fold).get();
  }
  template <Foldable T>
  Pending<std::vector<T>> start_reduce(const std::vector<T>& values, int root, Fold fold = Fold::sum) {
    Signature s{.kind = Collective::reduce, .fold = fold, .type = scalar_of<T>(), .root = root, .count = i64(values.size())};
    auto operation = begin(s, bytes_of(values), {}, combine<T>);
    return result<std::vector<T>>(
        operation, [is_root = rank() == root](Operation& o) { return is_root ? values_of<T>(o.values) : std::vector<T>(); });
  }

  /// Values of all ranks, folded, on every rank, with the same bits everywhere. Messages: see Algorithm.
  /// Throws unsupported for an algorithm that the engine does not have.
  template <Foldable T>
  std::vector<T> all_reduce(const std::vector<T>& values, Fold fold = Fold::sum, const AllReduceOptions& options = {}) {
    return start_all_reduce(values, fold, options).get();
  }
  template <Foldable T>
  Pending<std::vector<T>> start_all_reduce(const std::vector<T>& values, Fold fold = Fold::sum,
                                           const AllReduceOptions& options = {}) {
    Signature s{.kind = Collective::all_reduce,
                .fold = fold,
                .options = chosen(options, rank_.engine()),
                .type = scalar_of<T>(),
                .count = i64(values.size())};
    return list<T>(begin(s, bytes_of(values), {}, combine<T>));
  }
  Pending<std::vector<double>> start_all_reduce(std::initializer_list<double> values) {
    return start_all_reduce(std::vector<double>(values));
  }

  /// [rank] what each rank contributed, on the root; nothing elsewhere. P - 1 messages in all, depth 1.
  template <Sendable T>
  Lists<T> gather(const std::vector<T>& values, int root) {
    return start_gather(values, root).get();
  }
  template <Sendable T>
  Pending<Lists<T>> start_gather(const std::vector<T>& values, int root) {
    auto operation = begin({.kind = Collective::gather, .type = scalar_of<T>(), .root = root}, {}, only_mine(bytes_of(values)));
    return result<Lists<T>>(operation, [is_root = rank() == root](Operation& o) { return is_root ? lists<T>(o) : Lists<T>(); });
  }

  /// [rank] what each rank contributed, on every rank. P - 1 messages a rank, depth 1.
  template <Sendable T>
  Lists<T> all_gather(const std::vector<T>& values) {
    return start_all_gather(values).get();
  }
  template <Sendable T>
  Pending<Lists<T>> start_all_gather(const std::vector<T>& values) {
    return result<Lists<T>>(begin({.kind = Collective::all_gather, .type = scalar_of<T>()}, {}, only_mine(bytes_of(values))),
                            lists<T>);
  }

  /// Each rank gets its list of the root's, which passes one for each rank; what others pass is not looked at. P - 1 messages
  /// of the root, depth 1. Throws bad_argument on a root with another number of lists.
  template <Sendable T>
  std::vector<T> scatter(const Lists<T>& values, int root) {
    return start_scatter(values, root).get();
  }
  template <Sendable T>
  Pending<std::vector<T>> start_scatter(const Lists<T>& values, int root) {
    auto parts = rank() == root ? parts_of(values, "scatter") : std::vector<Bytes>(std::size_t(size()));
    return result<std::vector<T>>(
        begin({.kind = Collective::scatter, .type = scalar_of<T>(), .root = root}, {}, std::move(parts)),
        [](Operation& o) { return values_of<T>(o.parts[std::size_t(o.rank())]); });
  }

  /// values[q] goes to rank q; returns [q] what rank q had for this one. P - 1 messages a rank, depth 1.
  /// Throws bad_argument unless there is a list for each rank.
  template <Sendable T>
  Lists<T> all_to_all(const Lists<T>& values) {
    return start_all_to_all(values).get();
  }
  template <Sendable T>
  Pending<Lists<T>> start_all_to_all(const Lists<T>& values) {
    return result<Lists<T>>(begin({.kind = Collective::all_to_all, .type = scalar_of<T>()}, {}, parts_of(values, "all_to_all")),
                            lists<T>);
  }

  /// values[q] of all ranks, folded in their order, on rank q. P - 1 messages a rank, depth 1. Reproducible.
  /// Throws bad_argument unless there is a list for each rank, and where ranks' lists for one rank differ in length.
  template <Foldable T>
  std::vector<T> reduce_scatter(const Lists<T>& values, Fold fold = Fold::sum) {
    return start_reduce_scatter(values, fold).get();
  }
  template <Foldable T>
  Pending<std::vector<T>> start_reduce_scatter(const Lists<T>& values, Fold fold = Fold::sum) {
    Signature s{.kind = Collective::reduce_scatter, .fold = fold, .type = scalar_of<T>()};
    return list<T>(begin(s, {}, parts_of(values, "reduce_scatter"), combine<T>));
  }

 private:
  using Begun = std::shared_ptr<Operation>;
  /// Checks the root, and starts the schedule.
  Begun begin(const Signature& s, Bytes values, std::vector<Bytes> parts = {}, Combine combine = nullptr);
  std::vector<Bytes> only_mine(Bytes values) const;
  void check_lists(std::size_t count, const char* collective) const;

  template <class R, class Get>
  static Pending<R> result(const Begun& operation, Get get) {
    return Pending<R>(
        [operation, get] {
          operation->wait();
          return get(*operation);
        },
        [operation] { return operation->test(); });
  }
  template <class T>
  static Pending<std::vector<T>> list(const Begun& operation) {
    return result<std::vector<T>>(operation, [](Operation& o) { return values_of<T>(o.values); });
  }
  template <class T>
  static Lists<T> lists(Operation& o) {
    Lists<T> all;
    for (auto& part : o.parts) all.push_back(values_of<T>(part));
    return all;
  }
  template <class T>
  std::vector<Bytes> parts_of(const Lists<T>& values, const char* collective) const {
    check_lists(values.size(), collective);
    std::vector<Bytes> parts;
    for (auto& part : values) parts.push_back(bytes_of(part));
    return parts;
  }
  template <class T>
  static Bytes bytes_of(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  template <class T>
  static std::vector<T> values_of(const Bytes& bytes) {
    if (bytes.size() % sizeof(T) != 0)
      bad_argument(std::to_string(bytes.size()) + " bytes came, which are no whole number of values of " +
                   std::to_string(sizeof(T)) + " bytes");
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  void check_rank(int r) const {
    if (r < 0 || r >= size()) bad_argument("there is no rank " + std::to_string(r) + " of " + std::to_string(size()));
  }

  Rank& rank_;
  int channel_;
};

}  // namespace sordino
