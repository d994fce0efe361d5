#include "sordino/runtime/twin.hpp"

#include <string>

#include "sordino/base/error.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

void Engine::start_copy(Rank& rank, const TwinCopy& copy) {
  if (copy.fetches)
    read(rank, copy.physical, copy.twin, copy.count);
  else
    write(rank, copy.physical, copy.twin, copy.count);
}

// --- the handle -------------------------------------------------------------------------------------------------------------

bool Transfer::is_under_way() const {
  if (!twin_ || !twin_->rank || !twin_->is_under_way || twin_->copies != number_) return false;
  if (thread_ != std::this_thread::get_id()) bad_argument("a copy of a vector is tested and waited for by its rank's thread");
  return true;
}

// An error that passes ends the copy as well, if the engine can still wait: whoever catches it then finds the twin at rest.
Transfer::~Transfer() noexcept(false) {
  try {
    wait();
  } catch (...) {
    if (std::uncaught_exceptions() <= unwinding_) throw;
  }
}

bool Transfer::test() { return !is_under_way() || twin_->rank->test_copy(*twin_); }

void Transfer::wait() {
  if (is_under_way()) twin_->rank->finish_copy(*twin_);
}

// --- the rank's part --------------------------------------------------------------------------------------------------------

double* Rank::twin(Vec v) { return twin_of(v)->copy.twin; }

std::shared_ptr<Twin> Rank::twin_of(Vec v) {
  if (v.id < 0 || v.id >= int(vectors_.size())) bad_argument("a twin is asked for of a vector that this rank does not have");
  if (auto known = twins_.find(v.id); known != twins_.end()) return known->second;
  check_idle("the twin of a vector is made");
  auto made = std::make_shared<Twin>();
  made->rank = this;
  made->copy.vector = v.id;
  made->copy.twin = engine_.pinned_twin(*this, v.id);
  if (!made->copy.twin) {
    made->own = std::make_unique<double[]>(std::size_t(vectors_[std::size_t(v.id)].length));
    made->copy.twin = made->own.get();
  }
  return twins_[v.id] = std::move(made);
}

i64 Rank::twin_bytes() const {
  i64 bytes = 0;
  for (auto& [v, twin] : twins_) bytes += vectors_[std::size_t(v)].length * i64(sizeof(double));
  return bytes;
}

Transfer Rank::start_fetch(Vec v) { return start_copy(v, true); }
Transfer Rank::start_store(Vec v) { return start_copy(v, false); }

Transfer Rank::start_copy(Vec v, bool fetches) {
  const std::string what = fetches ? "a vector is fetched" : "a vector is stored";
  check_idle(what.c_str());
  if (is_inside_replay()) bad_argument(what + " by a host task, which has the vectors that it says it uses");
  if (recording_) bad_argument(what + " while commands are recorded: do so before or after the replay");
  std::shared_ptr<Twin> twin = twin_of(v);
  const VectorInfo& info = vectors_[std::size_t(v.id)];
  if (info.permission == (fetches ? Permission::write_only : Permission::read_only))
    bad_argument("'" + info.name + (fetches ? "' may only be written, and is fetched" : "' may only be read, and is stored"));
  require_at_rest(v, what.c_str());
  twin->copy.physical = vector_map_[std::size_t(v.id)];
  twin->copy.count = spaces_[std::size_t(info.space)].rows;
  twin->copy.fetches = fetches;
  engine_.start_copy(*this, twin->copy);
  twin->is_under_way = true;
  twin->copies++;
  return Transfer(std::move(twin));
}

bool Rank::test_copy(Twin& twin) {
  if (!engine_.has_copied(*this, twin.copy)) return false;
  twin.is_under_way = false;
  return true;
}

void Rank::finish_copy(Twin& twin) {
  twin.is_given_up = true;
  twin.is_under_way = false;
  engine_.wait_for_copy(*this, twin.copy);
  twin.is_given_up = false;
}

// A copy that was given up may have ended since.
bool Rank::is_still_copied(Twin& twin) const {
  if (twin.is_given_up && engine_.has_copied(*twin.rank, twin.copy)) twin.is_given_up = false;
  return twin.is_given_up;
}

void Rank::require_at_rest(Vec v, const char* what) const {
  require_not_copied(v, what);
  for (auto& [number, transfer] : transfers_)
    if (transfer.rows.v.id == v.id)
      bad_argument(std::string(what) + ", '" + vectors_[std::size_t(v.id)].name + "', rows of which are still " +
                   (transfer.receives ? "received" : "sent") + ": finish that first");
}

void Rank::require_not_copied(Vec v, const char* what) const {
  auto found = twins_.find(v.id);
  if (found == twins_.end()) return;
  Twin& twin = *found->second;
  const std::string sentence = std::string(what) + ", '" + vectors_[std::size_t(v.id)].name + "', that ";
  if (twin.is_under_way) bad_argument(sentence + "is still being copied to or from its twin: wait() for it first");
  if (is_still_copied(twin)) bad_argument(sentence + "may still be copied to or from its twin: the wait for it has failed");
}

/// While a vector is copied its name keeps its buffer, and no command touches it.
void Rank::require_at_rest(const Recording& r) const {
  auto check = [&](const std::vector<int>& names) {
    for (int v : names) require_at_rest(Vec{v}, "a replay is started that uses a vector");
  };
  for (auto& c : r.commands)
    for (auto* names : {&c.reads, &c.writes, &c.ghosts, &c.pushes}) check(*names);
  for (auto& group : r.rotate) check(group);
}

void Rank::require_no_copies(const char* what) const {
  for (auto& [v, twin] : twins_) require_at_rest(Vec{v}, what);
  for (auto& [number, transfer] : transfers_) require_at_rest(transfer.rows.v, what);
}

void Rank::forget_copies() {
  for (auto& [v, twin] : twins_) twin->is_given_up |= std::exchange(twin->is_under_way, false);
  transfers_.clear();
}

}  // namespace sordino
