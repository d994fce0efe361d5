#include "sordino/runtime/rehearsal.hpp"

namespace sordino {

Rehearsal::Rehearsal(Rank& rank)
    : rank_(rank),
      vector_map_(rank.vector_map_),
      scalar_map_(rank.scalar_map_),
      pushed_(rank.pushed),
      seen_(rank.seen),
      reductions_(rank.reductions_) {
  rank.check_idle("a replay is rehearsed");
}

// What was made meanwhile stays, as if nothing had been replayed with it.
Rehearsal::~Rehearsal() {
  auto put_back = [](auto& now, const auto& before, auto fresh) {
    for (std::size_t i = 0; i < now.size(); i++) now[i] = i < before.size() ? before[i] : fresh(i);
  };
  auto itself = [](std::size_t i) { return int(i); };
  auto none = [](std::size_t) { return u32(0); };
  put_back(rank_.vector_map_, vector_map_, itself);
  put_back(rank_.scalar_map_, scalar_map_, itself);
  put_back(rank_.pushed, pushed_, none);
  put_back(rank_.seen, seen_, none);
  put_back(rank_.reductions_, reductions_, [&](std::size_t i) {
    Reduction fresh = rank_.reductions_[i];
    fresh.started = fresh.finished = 0;
    return fresh;
  });
}

void Rehearsal::replay(Recorded& recorded, int iterations) {
  go_through(recorded, iterations);
  if (recorded.recording().is_loop) drop_carried();
}

void Rehearsal::drop_carried() {
  rank_.seen = rank_.pushed;
  for (auto& reduction : rank_.reductions_) reduction.finished = reduction.started;
}

// What is under way after any iteration is what it is after the first ones; only the names differ.
void Rehearsal::replay_stretch(Recorded& loop, int iterations) { go_through(loop, iterations); }

void Rehearsal::go_through(Recorded& recorded, int iterations) {
  const Recording& r = recorded.recording();
  if (r.commands.empty()) return;
  rank_.compiled(recorded).program->prepare();
  const std::vector<int> vectors = rank_.vector_map_, scalars = rank_.scalar_map_;
  auto turn_to = [&](int turn) {
    rank_.vector_map_ = rotated(vectors, r.rotate, turn % r.period);
    rank_.scalar_map_ = rotated(scalars, r.rotate_scalars, turn % r.period);
  };
  // The first iteration may find other things under way than the later ones, of which there is one for each turn.
  const int sweeps = r.is_loop ? r.period + 1 : 1;
  for (int sweep = 0; sweep < sweeps; sweep++) {
    for (auto& c : r.commands)
      for (auto& p : c.phases) {
        if (p.op == Op::exit_test) rehearse_drain(recorded);
        count(p);
      }
    turn_to(sweep + 1);
    if (r.is_loop) rehearse_drain(recorded);
  }
  if (r.is_loop) turn_to(iterations);
}

void Rehearsal::rehearse_drain(Recorded& recorded) {
  Carried found = rank_.carried();
  if (found != Carried{}) rank_.compiled(rank_.drain_of(recorded, found));
}

void Rehearsal::count(const Phase& p) {
  auto physical = [&] { return std::size_t(rank_.vector_map_[std::size_t(p.slot)]); };
  auto reduction = [&]() -> Reduction& { return rank_.reductions_[std::size_t(p.slot)]; };
  switch (p.op) {
    case Op::finish: reduction().finished++; break;
    case Op::await: rank_.seen[physical()]++; break;
    case Op::put: rank_.pushed[physical()]++; break;
    case Op::start: reduction().started++; break;
    default: break;
  }
}

}  // namespace sordino
