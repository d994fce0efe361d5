// NVSHMEM, where this machine has it: loaded at run time, with our own words for its functions, so that nothing of it is needed
// to build. A process takes part in it as one member with one GPU, once, until the process ends; engines one after the other,
// or beside each other, take arenas of its memory. What its calls wait for is waited for in a thread of its own, so that a wait
// can be given up.
#pragma once
#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino::cuda {

/// Memory that every member has as much of. A member's address of it also names the others': the same distance from its
/// beginning is the same place there.
struct Arena {
  char* memory = nullptr;
  u64 bytes = 0, limit = 0, used = 0;  // limit: what the engine that has it asked for
  std::vector<char*> of_member;        // where this device stores into a member's; null: it cannot
  bool taken = false;                  // by an engine of this process
};

/// Everything that fails throws Error with one sentence. What NVSHMEM itself takes for fatal ends the process.
class Nvshmem {
 public:
  /// What all members are told by the one who made it.
  using Id = std::array<char, 128>;
  /// Called while others are waited for; throws to end the wait.
  using Look = std::function<void()>;

  /// Loads `path`, or what the loader finds as libnvshmem_host.so.3. Throws `unsupported` if there is none.
  explicit Nvshmem(const std::string& path);
  Nvshmem(const Nvshmem&) = delete;
  /// The process's own, loaded by the first call: that one's path counts.
  static Nvshmem& of_process(const std::string& path);

  const std::string& version() const { return version_; }  // as 3.4.5
  bool has_joined() const { return members_ > 0; }
  /// Before all that follows: what NVSHMEM reads from the environment, unless the user has said otherwise. `heap`: bytes that
  /// it sets aside where its memory cannot grow.
  static void prepare(u64 heap, bool one_host);
  Id make_id() const;
  /// Takes part as `member` of `members`, on this device, and waits for all others. Later calls only compare: throws
  /// `unsupported` if they do not say the same.
  void join(const Id& id, int member, int members, int device, const Look& look);

  // Arenas are numbered in the order in which they were made, the same in all members.
  int arenas() const { return int(arenas_.size()); }
  /// The first that is free here and large enough; arenas(): none is.
  int find_arena(u64 bytes) const;
  /// The arena of this number, which is made if it is the next one: then all members take part, and this waits for them.
  Arena& take_arena(int number, u64 bytes, const Look& look);
  void give_back(Arena& arena);  // nobody stores into it any more

  // Into another member's memory, from this one's: both in arenas. Any thread that has chosen the device. put() returns when
  // `from` may be written again.
  void put(void* to, const void* from, u64 bytes, int member);
  void put_word(u32* to, u32 word, int member);
  void complete();  // what was put before is there

 private:
  struct Functions;
  void wait(const std::string& what, const std::function<void()>& call, const Look& look);

  std::shared_ptr<Functions> f_;
  std::string version_;
  int member_ = -1, members_ = 0, device_ = -1;
  std::mutex storing_;  // calls are to come one by one
  bool lost_ = false;   // a wait was given up: NVSHMEM is still in that call
  std::vector<std::unique_ptr<Arena>> arenas_;
};

}  // namespace sordino::cuda
