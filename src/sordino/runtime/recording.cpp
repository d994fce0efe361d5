// What a Rank does while a body is recorded: functors become commands, and commands a checked recording.
#include <algorithm>
#include <cstdlib>

#include "sordino/base/error.hpp"
#include "sordino/runtime/contains.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

void Rank::use_vector(Command& c, int id, Access access, detail::Lies lies, std::size_t element) {
  if (id < 0) return;  // an operand left unset: an epilogue's own result, or a scaling by 1
  const VectorInfo& v = vectors_[id];
  auto has = [id](const std::vector<int>& l) { return contains(l, id); };
  auto add = [&](std::vector<int>& list) {
    if (!has(list)) list.push_back(id);
  };
  if (lies != detail::Lies::elsewhere) {
    bool numbers = lies == detail::Lies::in_numbers;
    int space = numbers ? spaces_[v.space].numbers : v.space;
    if (space < 0) bad_argument(c.name + ": '" + v.name + "' holds real numbers");
    if (c.space >= 0 && c.space != space) bad_argument(c.name + ": '" + v.name + "' lives on another space");
    c.space = space;
    if (!has(c.reads) && !has(c.writes)) row_bytes_ += double(element);
    if (access == Access::update) row_bytes_ += double(element);
  }
  if (access != Access::write && access != Access::arrived) add(c.reads);
  if (access == Access::write || access == Access::update) add(c.writes);
  bool ghosts = access == Access::ghost || access == Access::arrived;
  if ((ghosts && !is_whole(id)) || (access == Access::whole && is_gathered(id))) c.ghosts.push_back(id);
}

void Rank::add_epilogue(Command& c, const After& a) {
  for (auto& e : a.events) {
    if (!recording_ || e.recording != recordings_) bad_argument(c.name + ": is to follow a command of another recording");
    if (recording_->commands[std::size_t(e.command)].queue != queue_) c.after.push_back({e.command, 0});
  }
}

Command Rank::host_command(HostTask task) {
  Command c;
  c.name = task.name;
  if (!task.run) bad_argument(c.name + ": a host task without a function");
  c.capturable = false;
  c.host_seconds = task.seconds;
  use_all(c, task.uses, task.gets, task.puts);
  c.body = std::make_shared<HostBody>(std::move(task));
  return c;
}

Command Rank::device_command(DeviceTask task) {
  Command c;
  c.name = task.name;
  if (!task.on_device && !task.on_host) bad_argument(c.name + ": a device task without a function");
  use_all(c, task.uses, task.gets, task.puts);
  double words = 0;
  for (auto& use : task.uses)
    if (use.vector.id >= 0) words += double(spaces_[vectors_[use.vector.id].space].rows) * (use.how == Access::update ? 2 : 1);
  c.bytes = task.bytes.value_or(8 * words);
  c.flops = task.flops;
  c.groups.emplace_back();  // commit() fills it
  row_bytes_ = 0;
  c.body = std::make_shared<DeviceBody>(std::move(task));
  return c;
}

/// The one group of a device task, behind all that it waits for.
const Split& Rank::at_once() {
  static const Split split{{}, {{0, 1}}};
  return split;
}

void Rank::use_all(Command& c, const std::vector<HostTask::Use>& uses, const std::vector<Get>& gets,
                   const std::vector<Scal>& puts) {
  for (auto& use : uses) use_vector(c, use.vector.id, use.how, detail::Lies::elsewhere);
  for (auto& g : gets)
    if (!g.last) (g.finishes ? c.finishes : c.gets).push_back(g.id);
  for (Scal s : puts) c.puts.push_back(s.id);
}

void Rank::dots_command(const StartDots& s) {
  bool turned = false;
  for (auto& d : s.dots) {
    turned |= d.turn != Turn::none;
    if (d.turn != Turn::none && spaces_[vectors_[d.b.id].space].numbers < 0) bad_argument("a complex product of real vectors");
  }
  auto record = [&]<int K, class Pair>(Dots<K, Pair> d) {
    Start to;
    for (int k = 0; k < K; k++) {
      d.dots[k].a = In{s.dots[k].a};
      d.dots[k].b = In{s.dots[k].b};
      if constexpr (requires { d.dots[k].turn; }) d.dots[k].turn = s.dots[k].turn;
      to.to.push_back(s.dots[k].to);
    }
    record_command(d, space_of_fields, nullptr, to);
  };
  if (turned && s.dots.size() == 2) return record(Dots<2, TurnedPair>{});
  if (turned && s.dots.size() == 3) return record(Dots<3, TurnedPair>{});
  if (turned) bad_argument("dots() takes 2 or 3 dot products where complex ones are among them");
  switch (s.dots.size()) {
    case 1: return record(Dots<1>{});
    case 2: return record(Dots<2>{});
    case 3: return record(Dots<3>{});
    case 4: return record(Dots<4>{});
    default: bad_argument("dots() takes 1 to 4 dot products");
  }
}

namespace {

TaskGroup group_of(const std::vector<RowRange>& ranges) {
  TaskGroup g{std::make_shared<std::vector<RowRange>>(ranges), 0};
  for (auto& r : ranges) g.rows += r.size();
  return g;
}

/// What the first group leaves of the command's time is shared by rows; without rows it takes none.
void share_time(Command& c, double ahead) {
  double rows = double(c.rows() - (ahead > 0 ? c.groups[0].rows : 0));
  for (std::size_t k = 0; k < c.groups.size(); k++)
    c.groups[k].share = k == 0 && ahead > 0 ? ahead : rows > 0 ? (1 - ahead) * double(c.groups[k].rows) / rows : 0;
}

}  // namespace

void Rank::wait(Scal s) { record_command(WaitFor{Get(finish(s))}, space_of_fields, nullptr); }

void Rank::require_permissions(const Command& c) const {
  auto check = [&](const std::vector<int>& used, Permission never, const char* does) {
    for (int v : used)
      if (vectors_[v].permission == never) bad_argument(c.name + ": it " + does + " '" + vectors_[v].name + "'");
  };
  check(c.writes, Permission::read_only, "writes, and may only read,");
  check(c.reads, Permission::write_only, "reads, and may only write,");
  check(c.ghosts, Permission::write_only, "reads, and may only write,");
}

void Rank::require_parts(const OwnRows& from, Vec to, i32 first) const {
  auto check = [&](Vec v, i32 row) {
    i32 rows = spaces_[vectors_[v.id].space].rows;
    if (row < 0 || from.count < 0 || row > rows - from.count)
      bad_argument("Copy: " + std::to_string(from.count) + " rows from row " + std::to_string(row) + " of '" +
                   vectors_[v.id].name + "', which has " + std::to_string(rows));
  };
  check(from.v, from.first);
  check(to, first);
  if (from.v.id == to.id && std::abs(from.first - first) < from.count)
    bad_argument("Copy: rows of '" + vectors_[to.id].name + "' to rows that overlap them");
}

// The phases of a command follow from what it finishes, tests, reads from others, sends and starts.
Event Rank::commit(Command c, const Split* split, double row_flops) {
  if (!recording_) bad_argument(c.name + ": commands are recorded inside record() or loop()");
  require_permissions(c);
  c.queue = queue_;
  c.every = every_;
  auto phase = [&](Op op, int slot = -1) { c.phases.push_back({op, slot}); };
  phase(Op::launch);
  if (pending_test_) {
    c.test = std::move(pending_test_);
    pending_test_ = nullptr;
    c.gets.insert(c.gets.end(), test_gets_.begin(), test_gets_.end());
    c.finishes.insert(c.finishes.begin(), test_finishes_.begin(), test_finishes_.end());
    test_gets_.clear();
    test_finishes_.clear();
  }
  std::vector<int> finished;  // slots; two scalars of one reduction end it once
  for (int s : c.finishes) {
    int slot = reduction_of_[s];
    if (slot < 0) bad_argument(c.name + ": finish of '" + scalar_names_[s] + "', into which no command reduces");
    if (contains(finished, slot)) continue;
    finished.push_back(slot);
    phase(Op::finish, slot);
  }
  if (c.test) phase(Op::exit_test);
  phase(Op::head);

  bool works = !c.groups.empty();
  c.groups.clear();
  for (int v : c.ghosts)
    if (!vectors_[v].exchange) bad_argument(c.name + ": '" + vectors_[v].name + "' has no ghosts to read");
  for (int v : c.pushes)
    if (!vectors_[v].exchange) bad_argument(c.name + ": '" + vectors_[v].name + "' has nobody to be pushed to");
  // Rows that others wait for go first where one exchange says which they are, and nothing else divides the rows.
  const Exchange *from = common_exchange(c.ghosts, c.space), *to = common_exchange(c.pushes, c.space);
  bool reads = !c.ghosts.empty(), sends_early = !reads && to && !split;
  Split whole;
  // On a replicated space sums are not reduced: all ranks must add the same rows in the same order, whoever owns them.
  bool one_order = works && c.sums > 0 && c.space >= 0 && spaces_[c.space].replicated;
  if (works && one_order) {
    (reads ? whole.rest : whole.first).assign(1, RowRange{0, spaces_[c.space].rows});
    split = &whole;
  } else if (works && !split) {
    if (c.space < 0) bad_argument(c.name + ": it has rows, but no vector says which");
    (reads ? whole.rest : whole.first).assign(1, RowRange{0, spaces_[c.space].rows});
    split = from ? &from->consumer : sends_early ? &to->producer : &whole;
    if (split->first.empty() && split->rest.empty()) split = &whole;  // the exchange does not say
  }
  auto await = [&] {
    for (int v : c.ghosts) phase(Op::await, v);
  };
  auto put = [&](bool ahead) {
    for (int v : c.pushes)
      if (ahead == (split && !split->ahead.empty() && contains(c.sends, v))) phase(Op::put, v);
  };
  auto tasks = [&](const std::vector<RowRange>& ranges) {
    if (ranges.empty()) return;
    phase(Op::tasks, int(c.groups.size()));
    c.groups.push_back(group_of(ranges));
  };
  if (works && !split->ahead.empty()) {
    tasks(split->ahead);
    put(true);
  }
  if (works) tasks(split->first);
  await();
  if (!c.capturable) phase(Op::host);
  if (sends_early) put(false);
  if (works) tasks(split->rest);
  if (!sends_early) put(false);
  if (works) share_time(c, split->ahead.empty() ? 0 : split->ahead_share);
  if (c.starts >= 0) phase(Op::start, c.starts);
  c.bytes += row_bytes_ * double(c.rows());
  c.flops += row_flops * double(c.rows());
  recording_->commands.push_back(std::move(c));
  return {int(recording_->commands.size()) - 1, recordings_};
}

/// The exchange that all of them, vectors of `space`, share; null if there is none.
const Exchange* Rank::common_exchange(const std::vector<int>& vectors, int space) const {
  const Exchange* shared = vectors.empty() ? nullptr : vectors_[vectors[0]].exchange;
  for (int v : vectors)
    if (vectors_[v].exchange != shared || vectors_[v].space != space) return nullptr;
  return shared;
}

void Rank::push_last(Vec v) {
  if (!recording_ || recording_->commands.empty())
    bad_argument("there is no command to push '" + vectors_[v.id].name + "' with");
  Command& c = recording_->commands.back();
  if (!vectors_[v.id].exchange) bad_argument(c.name + ": '" + vectors_[v.id].name + "' has nobody to be pushed to");
  c.pushes.push_back(v.id);
  auto last = c.phases.end();
  if (c.phases.back().op == Op::start) --last;
  c.phases.insert(last, {Op::put, v.id});
}

void Rank::begin_recording(Recording empty) {
  check_idle("a recording is made");
  if (recording_) bad_argument("recordings do not nest");
  recording_ = std::make_shared<Recording>(std::move(empty));
  recordings_++;
}

void Rank::forget_recording() {
  recording_ = nullptr;
  pending_test_ = nullptr;
  test_gets_.clear();
  test_finishes_.clear();
  queue_ = every_ = 0;
  joining_.clear();
}

// A test that no command follows gets one of its own.
void Rank::make_pending_test() {
  if (pending_test_) record_command(Nothing{}, space_of_fields, nullptr);
}

void Rank::add_rotation(Recording& r, const Rotation& rotation) const {
  std::set<int> taken;
  auto add = [&](auto& names, auto& groups) {
    taken.clear();
    for (auto& g : names) {
      int length = int(g.size());
      if (length == 0) bad_argument("a rotation without a name");
      groups.emplace_back();
      for (auto n : g) {
        groups.back().push_back(n.id);
        if (!taken.insert(n.id).second) bad_argument("a name stands in two rotations, or twice in one");
      }
      if (r.period % length && length % r.period) bad_argument("rotations of lengths that do not divide each other");
      r.period = std::max(r.period, length);
    }
  };
  add(rotation.vectors, r.rotate);
  add(rotation.scalars, r.rotate_scalars);
  for (auto& g : r.rotate)
    for (int v : g)
      if (vectors_[v].space != vectors_[g[0]].space || vectors_[v].exchange != vectors_[g[0]].exchange)
        bad_argument("'" + vectors_[v].name + "' and '" + vectors_[g[0]].name +
                     "' cannot trade places: they live on different spaces or exchanges");
      else if (vectors_[v].permission != vectors_[g[0]].permission)
        bad_argument("'" + vectors_[v].name + "' and '" + vectors_[g[0]].name +
                     "' cannot trade places: their permissions differ");
}

Recorded Rank::end_recording(const Rotation& rotation) {
  make_pending_test();
  require_carriers();
  auto r = std::move(recording_);
  recording_ = nullptr;
  add_rotation(*r, rotation);
  derive_dependences(*r);
  if (mutate) mutate(*r);
  engine_.barrier(*this);  // every rank's memory of the names used here exists
  return Recorded(std::move(r));
}

// Two commands on different queues depend on each other where one touches what the other writes: by its name in this iteration,
// and, since rotated names change places, by that of any name of its rotation in the one before.
void Rank::derive_dependences(Recording& r) const {
  auto leader = [](int v, const std::vector<std::vector<int>>& groups) {
    for (auto& g : groups)
      for (int x : g)
        if (x == v) return g[0];
    return v;
  };
  auto meet = [&](const std::vector<int>& a, const std::vector<int>& b, bool older, auto& groups) {
    for (int x : a)
      for (int y : b)
        if (x == y || (older && leader(x, groups) == leader(y, groups))) return true;
    return false;
  };
  auto both = [](std::vector<int> a, const std::vector<int>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  auto sets = [&](const Command& c) {  // who ends a reduction gives all its scalars their values
    auto all = c.puts;
    for (auto& p : c.phases)
      if (p.op == Op::finish) all = both(all, reductions_[p.slot].to);
    return all;
  };
  auto restarts = [](const Command& a, const Command& b) {
    for (auto& p : b.phases)
      if (p.op == Op::finish && p.slot == a.starts) return true;
    return false;
  };
  auto hazard = [&](const Command& a, const Command& b, bool older) {
    auto a_reads = both(a.reads, a.pushes), b_reads = both(b.reads, b.pushes);
    auto a_sets = sets(a), b_sets = sets(b);
    return meet(b.writes, a_reads, older, r.rotate) || meet(b.writes, a.writes, older, r.rotate) ||
           meet(b_reads, a.writes, older, r.rotate) || meet(b_sets, a.gets, older, r.rotate_scalars) ||
           meet(b_sets, a_sets, older, r.rotate_scalars) || meet(b.gets, a_sets, older, r.rotate_scalars) || restarts(a, b) ||
           b.test;
  };
  int n = int(r.commands.size());
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      auto &a = r.commands[i], &b = r.commands[j];
      if (a.queue == b.queue) continue;
      if (j < i && hazard(a, b, false))
        a.after.push_back({j, 0});  // and so after the one before
      else if (r.is_loop && hazard(a, b, true))
        a.after.push_back({j, 1});
    }
}

}  // namespace sordino
