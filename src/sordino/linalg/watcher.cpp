#include "sordino/linalg/watcher.hpp"

#include <cmath>

#include "sordino/comm/traffic.hpp"

namespace sordino {

Watcher::Watcher(Rank& rank, const Watch& watch, Vec x, Vec S) : every(watch.every), s_(rank), watch_(watch), x_(x), S_(S) {
  seen_rr_ = rank.scalar("(r,r) seen");
  int space = rank.vectors()[std::size_t(x.id)].space;
  if (!watch.x || rank.space(space).replicated) return;
  gather_ = gather_at(rank, rank.space(space).rows, 0);
  seen_x_ = rank.vector("x seen", space, &gather_);
  other_x_ = rank.vector("x seen before", space, &gather_);
}

void Watcher::record_look(Scal rr) const {
  s_.run(KeepNorm{.rr = last(rr), .seen = seen_rr_});
  if (seen_x_.id >= 0) s_.run(Shown{.x = x_, .S = S_, .seen = seen_x_}, push(seen_x_));
  HostTask task{.name = "callback", .gets = {seen_rr_}, .run = [this](const HostView& host) { look(host); }};
  if (seen_x_.id >= 0)
    task.uses = {{seen_x_, Access::ghost}};
  else if (watch_.x)
    task.uses = {{x_, Access::read}};
  s_.host(std::move(task));
}

// All ranks count the looks, since all of them ask what is due.
void Watcher::look(const HostView& host) const {
  looks_++;
  if (s_.id() != 0) return;
  const double* x = !watch_.x ? nullptr : host.words(seen_x_.id >= 0 ? seen_x_ : x_);
  watch_.look(begun_ + looks_ * stride_, std::sqrt(host.get(seen_rr_)) / b_norm_, x);
}

}  // namespace sordino
