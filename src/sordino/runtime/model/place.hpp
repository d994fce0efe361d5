// What the model engine keeps of each rank, and of what travels between ranks. Nothing here grows with the square of their
// number.
#pragma once
#include <array>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sordino/runtime/model/agenda.hpp"
#include "sordino/runtime/model/fiber.hpp"
#include "sordino/runtime/rank.hpp"
#include "sordino/runtime/storage.hpp"

namespace sordino::model {

inline constexpr double never = -std::numeric_limits<double>::infinity();

class ModelProgram;

/// The rows of one vector that one peer sends to this rank. A put owns the ghosts from the moment it is issued.
struct Arrival {
  u32 epoch = 0;
  bool stop = false;     // a stop request came along
  bool unread = false;   // no command has used the rows yet
  bool awaited = false;  // `waiter` wants to know
  Who waiter = 0;
  double at = never;          // seconds
  double flight = 0;          // of which it was under way
  double read_until = never;  // when the last command that used them ended
};

/// A vector's last put by this rank.
struct Sent {
  double at = never;
  bool stop = false;
};

/// One epoch of a reduction, seen from above: the model needs no copy on every rank.
struct Epoch {
  u32 number = 0;
  int started = 0, unread = 0;  // ranks
  bool stop = false;
  double last = never;               // when the last rank started it
  std::vector<double> starts, ends;  // [rank] where it goes another way: when it started it, and when it has the result
  std::vector<double> sums;          // [blocks][K]; empty if arithmetic is skipped
  std::vector<Who> waiters;

  bool complete(u32 wanted, int ranks) const { return number == wanted && started == ranks; }
};

/// A reduction slot: two epochs, as on the engines that keep real time.
struct Collective {
  std::array<Epoch, 2> epochs;
};

/// Host data on its way to a program: the earliest is delivered first.
struct InTransit {
  i64 tag;
  Letter letter;
  u64 number;  // of its receiver, in the order of posting: what one rank posts to another stays in order
  bool operator<(const InTransit& other) const {
    return letter.at != other.letter.at ? letter.at > other.letter.at : number > other.number;
  }
};

struct Place {
  Place(Engine& engine, int id, const Noise& n, const Processor& p) : rank(engine, id), noise(n), processor(p) {}

  Rank rank;
  Fiber program;
  double clock = 0;  // of the program between recordings
  Noise noise;
  Processor processor;
  double link_free = 0, network_free = 0;  // when the last message has left for this node, for another

  std::vector<Storage> vectors;                // [physical]; null if arithmetic is skipped
  std::vector<std::vector<Arrival>> arrivals;  // [physical][peer]
  std::vector<Sent> sent;                      // [physical]
  std::vector<std::array<double, 2>> started;  // [reduction slot][parity] when this rank started it
  std::vector<std::vector<double>> own_sums;   // [reduction slot] of replicated spaces
  i64 bytes = 0;
  std::vector<InTransit> in_transit;  // a heap
  std::map<int, double> last_from;    // when the last letter of a rank arrives
  u64 posted = 0, delivered = 0;      // letters to this rank
  Mailbox mail;
  double processor_busy_until = 0;  // with a host task

  ModelProgram* replaying = nullptr;
  bool awaits_replay = false;              // the program: it goes on when the recording has ended
  std::function<std::string()> waits_for;  // the program, other than for a recording
  bool awaits_mail = false;                // and goes on when any has come
  bool tests_replay = false;               // the program looks, and lets the others go first
  bool woken = false;                      // the agenda has its turn

  double attends_since = 0;  // seconds

  /// The program stands still where it holds nothing, and looks after what comes.
  bool attends() const { return awaits_replay || awaits_mail || tests_replay; }
};

}  // namespace sordino::model
