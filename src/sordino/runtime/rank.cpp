#include "sordino/runtime/rank.hpp"

#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/runtime/check.hpp"

namespace sordino {

int Rank::add_space(Space space) {
  space.id = int(spaces_.size());
  spaces_.push_back(std::move(space));
  return spaces_.back().id;
}

Vec Rank::wrap(std::string name, int space, double* storage, const Exchange* exchange) {
  if (!storage) bad_argument("vector '" + name + "' is to lie in memory of the caller's, which is null");
  return vector(std::move(name), space, exchange, storage);
}

Vec Rank::vector(std::string name, int space, const Exchange* exchange, double* callers) {
  int id = int(vectors_.size());
  vectors_.push_back({std::move(name), space, exchange, i64(spaces_[space].rows) + (exchange ? exchange->ghosts : 0), callers});
  vector_map_.push_back(id);
  pushed.push_back(0);
  seen.push_back(0);
  try {
    engine_.allocate(*this, id);
  } catch (...) {  // the name never was
    vectors_.pop_back();
    vector_map_.pop_back();
    pushed.pop_back();
    seen.pop_back();
    throw;
  }
  return {id};
}

Scal Rank::scalar(std::string name, double value, bool known) {
  int id = int(scalar_names_.size());
  scalar_names_.push_back(std::move(name));
  scalar_map_.push_back(id);
  reduction_of_.push_back(-1);
  scalar_values.push_back(value);
  scalar_known.push_back(known);
  if (known) engine_.set_scalar(*this, id, value);
  return {id};
}

void Rank::write(Vec v, const double* host) {
  engine_.write(*this, vector_map_[v.id], host, spaces_[vectors_[v.id].space].rows);
}

void Rank::read(Vec v, double* host) { engine_.read(*this, vector_map_[v.id], host, spaces_[vectors_[v.id].space].rows); }

void Rank::reset_names() {
  for (std::size_t i = 0; i < vector_map_.size(); i++) vector_map_[i] = int(i);
  for (std::size_t i = 0; i < scalar_map_.size(); i++) scalar_map_[i] = int(i);
}

// --- replay ---------------------------------------------------------------------------------------------------------------

Program& Rank::compiled(Recorded& recorded) {
  std::vector<int> key = vector_map_;
  key.insert(key.end(), scalar_map_.begin(), scalar_map_.end());
  auto& c = recorded.programs_[key];
  Carried found = carried();
  if (checking && (!c.program || c.found != found)) {
    c.settling = check(*this, *recorded.recording_);
    c.found = std::move(found);
  }
  if (!c.program) c.program = engine_.compile(*this, *recorded.recording_, vector_map_, scalar_map_);
  settle(c.settling);
  return *c.program;
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

Outcome Rank::replay(Recorded& recorded, int max) {
  const Recording& r = *recorded.recording_;
  Outcome out{0, proceed};
  if (!r.commands.empty() && max > 0) {
    out = engine_.replay(*this, compiled(recorded), r.is_loop ? max : 1);
    // After an exit names mean what they meant in the last body; at the maximum, what the next one would see.
    int turns = out.exited() ? out.iterations - 1 : out.iterations;
    vector_map_ = rotated(vector_map_, r.rotate, turns % r.period);
    scalar_map_ = rotated(scalar_map_, r.rotate_scalars, turns % r.period);
    if (r.is_loop) drain(recorded);
  }
  return out;
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
  auto [open, unread] = carried();
  if (open.empty() && unread.empty()) return;
  std::vector<int> key = open;
  key.push_back(-1);
  key.insert(key.end(), unread.begin(), unread.end());
  auto& d = recorded.drains_[key];
  if (!d) {
    Command c;
    c.name = "Drain";
    c.body = std::make_shared<BodyOf<Nothing>>(Nothing{});
    c.phases.push_back({Op::launch});
    for (int slot : open) {
      c.phases.push_back({Op::finish, slot});
      c.finishes.push_back(reductions_[slot].to[0]);
    }
    for (int v : unread) {
      c.phases.push_back({Op::await, v});
      c.ghosts.push_back(v);
    }
    auto r = std::make_shared<Recording>();
    r->commands.push_back(std::move(c));
    d = std::make_shared<Recorded>(r);
  }
  engine_.replay(*this, compiled(*d), 1);
}

}  // namespace sordino
