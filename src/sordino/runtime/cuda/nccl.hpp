// NCCL, where this machine has it: loaded at run time, with our own words for its functions, so that nothing of it is needed to
// build. Its calls never block: what a rank must wait for is polled, and somebody may end it from another thread.
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::cuda {

/// This process's ranks in a communicator of one or several processes; each has a GPU of its own. Everything that fails throws
/// Error with one sentence.
class Nccl {
 public:
  /// What all members of a communicator are told by the one who made it.
  using Id = std::array<char, 128>;
  /// Called while something is waited for; throws to end the wait.
  using Look = std::function<void()>;

  /// Loads `path`, or what the loader finds as libnccl.so.2. Throws `unsupported` if there is none, or one that is too old.
  explicit Nccl(const std::string& path);
  /// Ends what was joined: with all others if they end theirs in some seconds, else alone.
  ~Nccl();
  Nccl(const Nccl&) = delete;

  const std::string& version() const { return version_; }  // as 2.28.9
  Id make_id() const;
  /// Of `ranks` in all, those from first_rank on are on these devices of this process. Waits for all others.
  void join(const Id& id, int ranks, int first_rank, const std::vector<int>& devices, const Look& look = [] {});

  // Each rank calls these from its own thread, on its own stream; asynchronous. Ranks are numbered over all processes.
  void all_reduce(int rank, double* values, i64 count, cudaStream_t stream);
  void all_gather(int rank, const double* part, double* whole, i64 count, cudaStream_t stream);

  /// Messages of one rank that leave and arrive together. What two ranks send each other matches in the order of these calls.
  class Group {
   public:
    Group(Nccl& nccl, int rank, cudaStream_t stream);
    ~Group();
    Group(const Group&) = delete;
    void send(const void* from, i64 bytes, int to);
    void receive(void* to, i64 bytes, int from);
    /// to[k] is then the sum of all ranks' from[k], of 64-bit whole numbers.
    void add_words(const void* from, void* to, i64 words);
    /// Puts all of it into the stream.
    void issue(const Look& look = [] {});

   private:
    Nccl& nccl_;
    int rank_;
    std::unique_lock<std::mutex> lock_;
    cudaStream_t stream_;
    bool open_ = true;
  };

  /// What has gone wrong since; empty: nothing. Any thread.
  std::string error_of(int rank);
  /// Ends a rank of this process: what is in its stream ends soon, without having been done, and all later calls throw. Returns
  /// at once if the rank is inside a call here; any thread, again and again. Nothing but messages may keep its stream from
  /// ending.
  void abort(int rank);

 private:
  struct Functions;
  struct Member {
    void* comm = nullptr;
    std::mutex mutex;  // of its calls, and of ending it
  };
  Member& member(int rank) { return *members_[std::size_t(rank - first_rank_)]; }
  void* comm_of(int rank);
  void check(const char* name, int result) const;
  int state_of(void* comm) const;
  void settle(const char* name, void* comm, int result, const Look& look) const;
  template <class Start>
  void collective(const char* name, int rank, const Start& start);

  void* library_ = nullptr;
  std::unique_ptr<Functions> f_;
  std::string version_;
  int first_rank_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace sordino::cuda
