// What a command does beside its rows: run(F, start(rr), push(p), after(e)). Dot, DotTo and Push stand in handles.hpp.
#pragma once
#include <type_traits>
#include <vector>

#include "sordino/runtime/handles.hpp"

namespace sordino {

/// Into which scalars a command's row sums are reduced, over all ranks. The command only starts it; a later one finishes it.
struct Start {
  std::vector<Scal> to;
};
template <class... S>
  requires(std::is_same_v<S, Scal> && ...)
Start start(S... to) {
  return {{to...}};
}

/// As start(), but the sums travel with those of the next command of the queue that starts a reduction: the ledger counts them
/// as one, and they are finished once that one is. So a reduction takes more values than one command can sum.
struct Join {
  std::vector<Scal> to;
};
template <class... S>
  requires(std::is_same_v<S, Scal> && ...)
Join join(S... to) {
  return {{to...}};
}

/// As Start, of commands whose rows do not return sums themselves: dot products of vectors.
struct StartDots {
  std::vector<DotTo> dots;
};
template <class... D>
  requires(std::is_same_v<D, DotTo> && ...)
StartDots start(D... dots) {
  return {{dots...}};
}

/// A command of the recording under way, for others to follow: run(F, after(e1, e2)).
struct Event {
  int command = -1;
  int recording = -1;  // which of the rank's recordings
};
struct After {
  std::vector<Event> events;
};
template <class... E>
  requires(std::is_same_v<E, Event> && ...)
After after(E... events) {
  return {{events...}};
}

}  // namespace sordino
