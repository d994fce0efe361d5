#include "sordino/runtime/replay.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/runtime/check.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {
namespace {

void forget(UnderWay& replay) {
  replay.current = 0;
  replay.goes_on = false;
  if (replay.program) replay.program->give_up();  // where it has ended, this is nothing
  replay.program = nullptr;
  replay.recorded = {};
}

/// The replay is over, however this ends.
class Ending {
 public:
  explicit Ending(UnderWay& replay) : replay_(replay) {}
  ~Ending() { forget(replay_); }
  Ending(const Ending&) = delete;

 private:
  UnderWay& replay_;
};

}  // namespace

// --- the handle -------------------------------------------------------------------------------------------------------------

Replay::~Replay() noexcept(false) {
  if (!is_under_way()) return;
  if (std::uncaught_exceptions() <= unwinding_)
    wait();
  else if (thread_ == std::this_thread::get_id())
    state_->rank->give_up_replay();
}

Rank& Replay::rank() const {
  if (!is_under_way()) bad_argument("this replay is over: it was waited for, it failed, or its run has ended");
  if (thread_ != std::this_thread::get_id()) bad_argument("a replay is tested and waited for by the thread of its rank");
  if (state_->inside) bad_argument("a host task waits for the replay that it belongs to");
  return *state_->rank;
}

bool Replay::test() { return rank().test_replay(); }
Outcome Replay::wait() { return rank().finish_replay(); }

// --- the rank's part --------------------------------------------------------------------------------------------------------

Rank::~Rank() {
  forget(*under_way_);
  for (auto& [v, twin] : twins_) twin->rank = nullptr;
}

void Rank::check_idle(const char* what) const {
  if (under_way_->given_up) bad_argument("a replay of this rank was given up when an error left its scope: the run must end");
  if (replays_aside()) bad_argument(std::string(what) + " while a replay is under way on this rank: wait() for it first");
}

void Rank::run_job(const std::function<void(Rank&)>& job) {
  job(*this);
  check_idle("the job ends");
  require_no_copies("the job ends with a vector");
}

void Rank::leave_job() {
  forget(*under_way_);
  under_way_->given_up = false;
  forget_copies();
}

Replay Rank::start(Recorded& recorded, int max) {
  UnderWay& u = *under_way_;
  check_idle("another is started");
  if (u.current != 0) bad_argument("a host task starts a replay on its own rank, which waits for the task");
  const Recording& r = *recorded.recording_;
  require_at_rest(r);
  std::shared_ptr<Program> program;
  if (!r.commands.empty() && max > 0) {
    program = settled(recorded);
    program->start(r.is_loop ? max : 1);
  }
  u.program = std::move(program);
  u.recorded = recorded;
  u.current = ++u.drawn;
  return Replay(under_way_);
}

bool Rank::test_replay() {
  UnderWay& u = *under_way_;
  if (!u.program) return true;
  Inside inside(u);
  try {
    return u.program->advance() == Advance::ended;
  } catch (...) {
    forget(u);
    throw;
  }
}

bool Rank::go_on() {
  UnderWay& u = *under_way_;
  if (!replays_aside() || !u.program) return false;
  Inside inside(u);
  try {
    return u.program->advance() == Advance::moved;
  } catch (...) {
    forget(u);
    throw;
  }
}

Outcome Rank::finish_replay() {
  UnderWay& u = *under_way_;
  Ending ending(u);
  if (!u.program) return {0, proceed};
  Inside inside(u);
  const Recording& r = *u.recorded.recording_;
  Outcome out = u.program->wait();
  // After an exit names mean what they meant in the last body; at the maximum, what the next one would see.
  int turns = out.exited() ? out.iterations - 1 : out.iterations;
  vector_map_ = rotated(vector_map_, r.rotate, turns % r.period);
  scalar_map_ = rotated(scalar_map_, r.rotate_scalars, turns % r.period);
  if (r.is_loop && (out.exited() || !u.goes_on)) drain(u.recorded);
  return out;
}

Outcome Rank::replay_stretch(Recorded& loop, int max) {
  Replay replay = start(loop, max);
  under_way_->goes_on = true;
  return replay.wait();
}

// The device may still be at work for it, and other ranks wait for what it sends: its program stays until all know of the
// error.
void Rank::give_up_replay() {
  under_way_->current = 0;
  under_way_->given_up = true;
  if (under_way_->program) under_way_->program->give_up();
}

// --- programs ---------------------------------------------------------------------------------------------------------------

Recorded::Compiled& Rank::compiled(Recorded& recorded) {
  std::vector<int> key = vector_map_;
  key.insert(key.end(), scalar_map_.begin(), scalar_map_.end());
  auto& c = recorded.made_->programs[key];
  Carried found = carried();
  if (checking && (!c.program || c.found != found)) {
    c.settling = check(*this, *recorded.recording_);
    c.found = std::move(found);
  }
  // What only receives (a Drain) is compiled by each rank alone.
  if (checking && !c.program && size() > 1 && sends(*recorded.recording_))
    engine_.accounts().compare(engine_, *this, account_of(*this, *recorded.recording_));
  if (!c.program) {
    c.program = engine_.compile(*this, *recorded.recording_, vector_map_, scalar_map_);
    compilations_++;
  }
  return c;
}

const std::shared_ptr<Program>& Rank::settled(Recorded& recorded) {
  Recorded::Compiled& c = compiled(recorded);
  settle(c.settling);
  return c.program;
}

void Rank::settle(const Settling& next) {
  bool clash = false;
  for (int v : next.early) clash |= unsettled_.count(v) > 0;
  if (clash && size() > 1) {
    engine_.barrier(*this);
    unsettled_.clear();
  }
  unsettled_.insert(next.unsettled.begin(), next.unsettled.end());
}

Carried Rank::carried() const {
  Carried c;
  for (std::size_t i = 0; i < reductions_.size(); i++)
    if (reductions_[i].started != reductions_[i].finished) c.open.push_back(int(i));
  for (std::size_t v = 0; v < vectors_.size(); v++)
    if (pushed[vector_map_[v]] != seen[vector_map_[v]]) c.unread.push_back(int(v));
  return c;
}

// What a loop carried to its next iteration is received here, and dropped.
void Rank::drain(Recorded& recorded) {
  Carried found = carried();
  if (found == Carried{}) return;
  Program& program = *settled(drain_of(recorded, found));
  program.start(1);
  program.wait();
}

Recorded& Rank::drain_of(Recorded& recorded, const Carried& found) const {
  std::vector<int> key = found.open;
  key.push_back(-1);
  key.insert(key.end(), found.unread.begin(), found.unread.end());
  Recorded& d = recorded.made_->drains[key];
  if (!d) {
    Command c;
    c.name = "Drain";
    c.body = std::make_shared<BodyOf<Nothing>>(Nothing{});
    c.phases.push_back({Op::launch});
    std::vector<int> open = found.open;  // what joins others is finished after them
    std::stable_partition(open.begin(), open.end(), [&](int slot) { return !reductions_[slot].joins; });
    for (int slot : open) {
      c.phases.push_back({Op::finish, slot});
      c.finishes.push_back(reductions_[slot].to[0]);
    }
    for (int v : found.unread) {
      c.phases.push_back({Op::await, v});
      c.ghosts.push_back(v);
    }
    auto r = std::make_shared<Recording>();
    r->commands.push_back(std::move(c));
    d = Recorded(r);
  }
  return d;
}

}  // namespace sordino
