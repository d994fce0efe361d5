// Do all ranks record the same? Where they do, and each one's recording is sound (check.hpp), nobody can wait in a circle:
// every rank has sent in earlier commands, or in the same one, whatever the others wait for in it.
#pragma once
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "sordino/runtime/command.hpp"

namespace sordino {

class Engine;
class Rank;

/// What a recording has to do with other ranks: whether it is a loop, what it rotates, and, command by command, what is sent,
/// waited for, started, finished and tested. Commands that meet nobody are left out, and so are functors and rows: ranks may
/// differ in them.
struct Account {
  struct Entry {
    std::string key;          // compared: logical names by their numbers
    std::string place, what;  // told: "command 3 of rank 0", "is 'Smooth', which waits for 'u'"
    bool operator==(const Entry& other) const { return key == other.key; }
  };
  std::vector<Entry> entries;  // the loop first, the end last
};
Account account_of(const Rank& rank, const Recording& recording);

/// One sentence about the first entry in which two accounts differ.
std::string difference(int a, const Account& of_a, int b, const Account& of_b);

/// The accounts of an engine's ranks. The nth of each is compared with the nth of the others.
class Accounts {
 public:
  /// Throws bad_argument where two ranks differ, on one of them; the engine fails the others with its sentence. Within a
  /// process it waits for nobody, and takes no time on a virtual clock (where the first to come may have begun); the first rank
  /// of a process waits for the last one of the process before, with the engine's timeout. Engines host and cuda then meet in
  /// compile(), before anybody begins. Cost: some microseconds a command, and one message a process.
  void compare(Engine& engine, Rank& rank, Account mine);

 private:
  struct Round {
    int rank;  // whose account it is: that of the first that came
    Account account;
    int missing;  // ranks of this process that have not come yet
  };
  void compare_here(Engine& engine, const Rank& rank, const Account& mine);

  std::mutex mutex_;
  std::deque<Round> rounds_;  // the oldest that is not over is first
  std::vector<u64> next_;     // [local rank] its next round
  u64 over_ = 0;              // rounds
};

}  // namespace sordino
