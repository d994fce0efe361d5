// A recording on the model engine: an actor for each queue, which interprets phases one event at a time.
#pragma once
#include "sordino/runtime/awaited.hpp"
#include "sordino/runtime/frame.hpp"
#include "sordino/runtime/model/device.hpp"
#include "sordino/runtime/model/engine.hpp"

namespace sordino::model {

class ModelProgram final : public Frame {
 public:
  ModelProgram(ModelEngine& engine, Place& place, const Recording& recording, const std::vector<int>& vector_map,
               const std::vector<int>& scalar_map);

  void start(int max) override { engine_.start(here_, *this, max); }
  Advance advance() override { return engine_.test(here_) ? Advance::ended : Advance::blocked; }
  Outcome wait() override { return engine_.wait(here_); }
  void give_up() override { here_.replaying = nullptr; }

  /// Puts all queues on the agenda.
  void begin(int max, double now);
  /// A queue's event.
  void act(int lane);
  /// A task group of the shared device may have ended.
  void device_due(double due);
  /// The program stands still from `time` on: its processor may run host tasks.
  void processor_is_free(double time);
  /// What the queue waited for has come about.
  void wake(int lane, double time);
  /// Books what commands took; throws what a command threw.
  void end();

  bool is_over() const { return left_ == 0; }
  double began_at() const { return began_at_; }
  double ended_at() const { return ended_at_; }
  Outcome outcome() const { return outcome_; }
  /// "rank 1's rows of 'p', epoch 3 (seen 2) (command Apply, iteration 2)", and the same as numbers.
  struct Waiting {
    std::string what;
    Cause cause;
  };
  std::vector<Waiting> waits() const;  // of each blocked queue

 private:
  /// A phase, with what the hot path needs of its command.
  struct Step {
    Op op = Op::head;
    bool opens = false;   // first of its command
    bool closes = false;  // behind the last: the command is done
    bool local = false;   // touches nobody else
    bool ahead = false;   // a sending before the command waits for ghosts
    int command = 0;
    int slot = -1;
    int every = 0;       // of the command
    double spread = 0;   // of its time
    double seconds = 0;  // tasks: on an idle device; launch: before it
  };
  enum class State { ready, blocked, computing, over };
  struct Queue {
    std::vector<Step> steps;  // of one iteration
    Who party = 0;
    State state = State::over;
    std::size_t at = 0;
    int iteration = 0;
    bool entered = false;    // the step has begun, and was blocked
    bool stop_seen = false;  // by this queue: its exit tests decide alike on all ranks
    std::size_t next_peer = 0;
    double now = 0, began = 0, waited = 0;
    double pace = 1;             // of the command, this time
    double sends_until = never;  // what the command has begun to send
  };
  struct Booked {  // of one command
    i64 calls = 0;
    double seconds = 0;
    int runs = 0;  // iterations in which it is done, or was passed over
    double done_at = never;
  };

  // program.cpp: from step to step
  std::vector<int> ghosts_of(const Command& c) const;
  void flatten(std::size_t queue, int command);
  bool is_local(Op op) const;
  void go_on(Queue& q);
  bool perform(Queue& q);
  bool interpret(Queue& q, const Step& s);
  void next_step(Queue& q);
  void pass_over(Queue& q, const Step& s);
  void close(Queue& q, const Step& s);
  void done(Queue& q, int command);
  bool is_past_the_end(const Queue& q, const Step& s) const;
  bool block(Queue& q);
  void wake_blocked_launches(const Queue& q);
  void leave(Queue& q);
  void fail(Queue& q);
  void book(const Queue& q, int command);
  void note(SpanKind kind, int command, const std::string& name, double start, double end) const;
  void forget_scalars();
  bool is_alone() const { return queues_.size() == 1; }

  // phases.cpp: what each phase does, and how long it takes; false: blocked
  bool launch(Queue& q, const Step& s);
  bool finish(Queue& q, const Step& s);
  bool exit_test(Queue& q, const Step& s);
  bool await(Queue& q, const Step& s);
  bool host(Queue& q, const Step& s);
  bool tasks(Queue& q, const Step& s);
  void put(Queue& q, const Step& s);
  void start(Queue& q, const Step& s);
  void ghosts_are_read(const Queue& q, int command);
  void book_wait(Queue& q, double wait, SpanKind kind, int command);
  Awaited what_blocks(const Queue& q) const;
  Awaited missing_part(int slot) const;
  Awaited missing_rows(const Queue& q, int logical) const;

  ModelEngine& engine_;
  Place& here_;
  std::vector<Queue> queues_;
  std::vector<Booked> booked_;                 // [command]
  std::vector<std::vector<int>> ghost_reads_;  // [command] vectors of which it reads other ranks' rows
  std::vector<double> cached_;                 // [command] of its bytes: found in the cache
  Device device_;
  int max_ = 0;
  int left_ = 0;  // queues that are not over
  Outcome outcome_;
  int exit_command_ = -1;
  double began_at_ = 0, ended_at_ = 0;
  std::exception_ptr error_;
};

}  // namespace sordino::model
