#include "sordino/runtime/cuda/plan.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/collecting.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino::cuda {
namespace {

void limit(const Command& c, std::size_t n, int most, const char* what) {
  if (n > std::size_t(most))
    throw Error(Errc::unsupported,
                c.name + ": the cuda engine takes at most " + std::to_string(most) + " " + what + " a command");
}

}  // namespace

Plan::Plan(State& state, Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
           const std::vector<int>& scalar_map)
    : state_(state), rank_(rank), mine_(state.of(rank)), rec_(recording), order_(state.order()) {
  if (rank.scalar_values.size() > std::size_t(most_scalars))
    throw Error(Errc::unsupported, "the cuda engine takes at most " + std::to_string(most_scalars) + " scalars a rank");
  for (int t = 0; t < rec_.period; t++) {
    vector_maps_.push_back(rotated(vector_map, rec_.rotate, t));
    scalar_maps_.push_back(rotated(scalar_map, rec_.rotate_scalars, t));
  }
  cut_all();
  if (state_.may_stay() && rec_.is_loop) stay();
  if (state_.may_hand_on() && !resident && !on_host) hand_on();
  if (state_.nccl) pack_parcels();
  if (epoch_count() > most_epochs)
    throw Error(Errc::unsupported, "a recording uses too many reductions and exchanges for the cuda engine");
}

void Plan::cut_all() {
  launches.clear();
  for (int i = 0; i < int(rec_.commands.size()); i++) cut(outline(i));
}

// Commands of several queues, and tasks, are left to launches. So are commands that no kernel which stays was enabled for.
void Plan::stay() {
  std::vector<ResidentEntry::Kind> kinds;
  i64 wanted = 0;
  for (auto& l : launches) {
    if (!l.functor || rec_.commands[l.command].queue != rec_.commands.front().queue) return;
    kinds.push_back({*l.functor, *l.test});
    wanted = std::max(wanted, l.wanted);
  }
  const ResidentEntry* entry = find_resident(kinds);
  if (!entry) return;
  i64 fit = most_blocks(entry->blocks_per_multiprocessor());
  if (fit == 0) return;
  resident = entry;
  resident_blocks = int(std::min(wanted, fit));
  cut_all();  // dealt to so many blocks
}

// Of a grid of which so many fit on a multiprocessor.
i64 Plan::most_blocks(int of_multiprocessor) const {
  i64 most = std::min(of_multiprocessor * mine_.multiprocessors, mine_.grid_limit);
  return state_.options.most_blocks > 0 ? std::min<i64>(most, state_.options.most_blocks) : most;
}

// Commands of several queues, whose streams would wait for each other in between, are left as they are.
void Plan::hand_on() {
  std::vector<Stage> stages;
  for (auto& l : launches) {
    const Command& c = rec_.commands[l.command];
    if (c.queue != rec_.commands.front().queue) return;
    Stage stage{.finishes = l.finished_slots, .blocks = l.blocks, .always = c.every == 0};
    if (l.functor) {
      const Entry& entry = *find_kernel(*l.functor, *l.test, order_);
      stage.starts = l.args[0].start.slot;
      stage.can_collect = entry.collecting_blocks_per_multiprocessor && state_.options.most_blocks != 1;
    }
    stages.push_back(stage);
  }
  const std::vector<bool> hands_on = who_hands_on(stages, rec_.is_loop);
  if (std::find(hands_on.begin(), hands_on.end(), true) == hands_on.end()) return;
  collect_.assign(launches.size(), false);
  for (std::size_t n = 0; n < hands_on.size(); n++)
    if (hands_on[n]) collect_[behind(n, hands_on.size())] = true;
  cut_all();  // dealt to a block less
  for (std::size_t n = 0; n < hands_on.size(); n++) launches[n].hands_on = hands_on[n];
}

// --- cutting commands into launches -----------------------------------------------------------------------------------------

Plan::Outline Plan::outline(int index) const {
  const Command& c = rec_.commands[index];
  Outline o(c, index);
  bool awaited = false, placed = false;  // placed: a group stands behind all that was awaited
  auto place = [&](int tasks) {
    o.groups.push_back({tasks, awaited, false});
    placed = true;
  };
  for (auto& p : c.phases) switch (p.op) {
      case Op::finish: o.finishes.push_back(p.slot); break;
      case Op::exit_test: o.tests = true; break;
      case Op::await: {
        int v = p.slot;
        if (rank_.vectors()[v].exchange->peers.empty()) break;
        o.sends_ahead = !o.puts.empty();
        if (!contains(o.awaits, v)) o.awaits.push_back(v);
        awaited = true;
        placed = false;
        break;
      }
      case Op::tasks: place(p.slot); break;
      case Op::put:
        if (rank_.vectors()[p.slot].exchange->peers.empty()) break;
        if (o.sends_ahead) throw Error(Errc::unsupported, c.name + ": sends rows before and after it waits for some");
        if (!placed) place(-1);
        for (auto& g : o.groups) g.puts = false;  // all vectors are sent at one place
        o.groups.back().puts = true;
        o.puts.push_back(p.slot);
        break;
      case Op::start: o.starts = p.slot; break;
      default: break;
    }
  if (awaited && !placed) {
    // Sums in fixed order leave with the last tile: then nothing may stand behind the rows.
    if (order_ == SumOrder::fixed && o.starts >= 0 && !o.groups.empty() && !o.sends_ahead)
      o.groups.back().awaits = true;
    else
      place(-1);
  }
  limit(c, o.finishes.size(), most_finishes, "reductions to finish");
  limit(c, o.awaits.size(), most_awaits, "vectors to wait for");
  limit(c, o.puts.size(), most_puts, "vectors to send");
  limit(c, o.groups.size(), most_groups, "task groups");
  return o;
}

// What a task waits for, tests and sends is done by launches before and behind it.
void Plan::cut_task(const Outline& all) {
  const Command& c = *all.command;
  Nothing nothing;
  if (!all.finishes.empty() || all.tests) {
    Outline first(c, all.index);
    first.finishes = all.finishes;
    first.tests = all.tests;
    add(first, typeid(Nothing), &nothing);
  }
  if (!all.awaits.empty()) {
    Outline waiting(c, all.index);
    waiting.awaits = all.awaits;
    waiting.groups.push_back({-1, true, false});
    add(waiting, typeid(Nothing), &nothing);
  }
  launches.push_back(launch_of_task(all.index));
  if (all.puts.empty()) return;
  Outline sending(c, all.index);
  sending.puts = all.puts;
  sending.groups.push_back({-1, false, true});
  add(sending, typeid(Nothing), &nothing);
}

Launch Plan::launch_of_task(int index) {
  const Command& c = rec_.commands[index];
  Launch l;
  l.command = index;
  l.awaits.resize(std::size_t(rec_.period));
  l.puts.resize(std::size_t(rec_.period));
  if (!c.capturable) {
    on_host = true;
    for (int t = 0; t < rec_.period; t++) l.host.push_back(c.body->bind([&](int v) { return rank_.twin({v}); }));
    return l;
  }
  // A graph takes hardware queues of the device, which are few, and may come to stand in one ahead of the copy that a kernel
  // waits for.
  if (state_.shared && state_.courier)
    throw Error(Errc::unsupported,
                c.name + ": a device task does not run on ranks that share a GPU and send through host memory");
  device_tasks = true;
  l.task = static_cast<const DeviceTask*>(c.body->functor());
  if (!l.task->on_device) throw Error(Errc::unsupported, c.name + ": a device task without on_device does not run on GPUs");
  return l;
}

void Plan::cut(Outline all) {
  const Command& c = *all.command;
  if (!c.capturable || c.body->type() == typeid(DeviceTask)) return cut_task(all);
  const std::type_info& test = all.tests ? c.test->type() : typeid(NoTest);
  Nothing nothing;
  bool nobody_tests = all.tests && !find_kernel(c.body->type(), test, order_) && find_kernel(typeid(Nothing), test, order_);
  if (nobody_tests || (order_ == SumOrder::fixed && !all.finishes.empty())) {
    // A kernel of its own finishes and tests first: nobody enabled this functor with this test, or it takes one thread block to
    // add all blocks in their order.
    Outline first(c, all.index);
    first.finishes = all.finishes;
    first.tests = all.tests;
    add(first, typeid(Nothing), &nothing);
    all.finishes.clear();
    all.tests = false;
  }
  // Ranks that share a device, or use NCCL, do not wait in the kernel that sends; and what a kernel does not send itself leaves
  // behind it.
  auto sends_itself = [&](int v) { return can_send_itself(all, v) || can_send_by_rows(all, v); };
  // And my own request to stop, which goes with what everybody gets, must be there when I read it.
  auto goes_to_all = [&](int v) { return rank_.vectors()[v].exchange->everybody; };
  bool leaves_at_once = !state_.shared && !state_.nccl && std::all_of(all.puts.begin(), all.puts.end(), sends_itself) &&
                        std::none_of(all.puts.begin(), all.puts.end(), goes_to_all);
  if (all.sends_ahead && !leaves_at_once) cut(take_ahead(all));
  Outline sending(c, all.index);
  for (int v : all.puts)
    if (!sends_itself(v) && (contains(c.writes, v) || !all.awaits.empty())) sending.puts.push_back(v);
  for (int v : sending.puts) all.puts.erase(std::find(all.puts.begin(), all.puts.end(), v));
  if (all.puts.empty())
    for (auto& g : all.groups) g.puts = false;
  add(all, c.body->type(), c.body->functor());
  if (sending.puts.empty()) return;
  sending.groups.push_back({-1, false, true});
  add(sending, typeid(Nothing), &nothing);
}

// All ranks must put the same into a message, whichever of their launches the single rows leave with: what a command sends goes
// behind its last launch, in the order of the names. If it also waits for what the others send so, its rows go ahead.
void Plan::pack_parcels() {
  auto sends_ahead = [](const Command& c) {
    auto put = std::find_if(c.phases.begin(), c.phases.end(), [](auto& p) { return p.op == Op::put; });
    return std::any_of(put, c.phases.end(), [](auto& p) { return p.op == Op::await; });
  };
  for (auto& l : launches) l.parcels.resize(std::size_t(rec_.period));
  for (std::size_t first = 0, end = 0; first < launches.size(); first = end) {
    while (end < launches.size() && launches[end].command == launches[first].command) end++;
    bool ahead = sends_ahead(rec_.commands[launches[first].command]);
    for (int turn = 0; turn < rec_.period; turn++) {
      Parcel rows, sums;
      std::size_t last_put = first;
      for (std::size_t l = first; l < end; l++) {
        for (int slot : launches[l].starts) sums.slot = slot, sums.epoch = epoch(Counter::started, slot);
        if (launches[l].puts[turn].empty()) continue;
        for (int v : launches[l].puts[turn]) rows.vectors.push_back({v, epoch(Counter::pushed, v)});
        last_put = l;
      }
      std::sort(rows.vectors.begin(), rows.vectors.end(), [](auto& a, auto& b) { return a.first < b.first; });
      if (!ahead) std::swap(sums.vectors, rows.vectors);
      if (!rows.empty()) launches[last_put].parcels[turn].push_back(rows);
      if (!sums.empty()) launches[end - 1].parcels[turn].push_back(sums);
    }
  }
}

// Takes off what a command does until it has sent rows, so that a launch of its own does it.
Plan::Outline Plan::take_ahead(Outline& all) const {
  const Command& c = *all.command;
  if (order_ == SumOrder::fixed && c.sums > 0)
    throw Error(Errc::unsupported, c.name + ": deterministic sums cannot be cut where rows are sent before others are awaited");
  Outline ahead(c, all.index);
  std::swap(ahead.finishes, all.finishes);
  std::swap(ahead.tests, all.tests);
  std::swap(ahead.puts, all.puts);
  all.sends_ahead = false;
  auto end = std::find_if(all.groups.begin(), all.groups.end(), [](auto& g) { return g.puts; }) + 1;
  ahead.groups.assign(all.groups.begin(), end);
  all.groups.erase(all.groups.begin(), end);
  return ahead;
}

// Words that a functor sends as it stores them: nobody still reads what they overwrite, since nothing is awaited before.
bool Plan::can_send_itself(const Outline& o, int logical) const {
  const Command& c = *o.command;
  auto at = std::find(c.sends.begin(), c.sends.end(), logical);
  if (at == c.sends.end() || (!o.awaits.empty() && !o.sends_ahead)) return false;
  i32 words = c.sent_words[std::size_t(at - c.sends.begin())];
  for (auto& p : rank_.vectors()[logical].exchange->peers)  // none is cut, here or there
    if (words > 1 && (!p.send_rows.empty() || p.send_first % words || p.send_count % words || p.remote_first % words))
      return false;
  return !state_.route(rank_, physical_vector(0, logical)).entries;
}

// A row may be sent by the thread that computes it if the command computes all rows to be sent, and none of them before the
// rows of others have been awaited: only then is it sure that the receivers no longer read what is overwritten.
bool Plan::can_send_by_rows(const Outline& o, int logical) const {
  if (!contains(o.command->writes, logical) || rank_.vectors()[logical].space != o.command->space) return false;
  RowSet computed;
  bool awaited = o.awaits.empty() || o.sends_ahead;
  for (auto& g : o.groups) {
    awaited |= g.awaits;
    if (awaited && g.tasks >= 0) computed.add(*o.command->groups[g.tasks].ranges);
    if (g.puts) break;
  }
  computed.sort();
  bool all = true;
  for (auto& p : rank_.vectors()[logical].exchange->peers)
    for_sent_runs(p, [&](RowRange rows, i32) { all = all && computed.has_all(rows); });
  return all;
}

// Every block of a command begins with a look at sums and ends with a packet, and those that find no place while the command
// before runs come late. Where few blocks are soon done, more of them cost more than they bring (ADR 36).
constexpr i64 few_blocks = 2;  // a multiprocessor
constexpr i64 few_rounds = 4;  // of chunks

void Plan::add(const Outline& o, const std::type_info& functor, const void* bytes) {
  const Command& c = *o.command;
  const std::type_info& test = o.tests ? c.test->type() : typeid(NoTest);
  const Entry* entry = find_kernel(functor, test, order_);
  if (!entry)
    throw Error(Errc::unsupported, "no kernel of the cuda engine runs command " + c.name + " (" + functor.name() +
                                       (o.tests ? std::string(" with exit test ") + test.name() : "") +
                                       "): list it in a KernelList and enable" +
                                       (order_ == SumOrder::fixed ? "<SumOrder::fixed>" : "") + "() it");
  Launch launch;
  launch.command = o.index;
  launch.functor = &functor;
  launch.test = &test;
  launch.tests = o.tests;
  launch.finished_slots = o.finishes;
  for (int s : o.finishes)
    if (!is_local(s)) launch.finishes.push_back(s);
  if (o.starts >= 0 && !is_local(o.starts)) launch.starts.push_back(o.starts);
  // No more blocks than fit at once: so the last one, which adds the others' sums, never keeps one of them out.
  i64 at_once = most_blocks(entry->blocks_per_multiprocessor());
  if (launches.size() < collect_.size() && collect_[launches.size()])
    at_once = std::min(at_once, most_blocks(entry->collecting_blocks_per_multiprocessor())) - 1;
  for (int t = 0; t < rec_.period; t++) {
    Args a = arguments(o, t, *entry, launch);
    Binding b;
    b.vector = [&](int v) { return mine_.vectors[physical_vector(t, v)].rows; };
    b.segments = [&](int v) -> std::pair<const Segment*, i32> {
      if (!contains(o.puts, v) || !can_send_itself(o, v)) return {nullptr, 0};
      const Route& route = state_.route(rank_, physical_vector(t, v));
      return {route.segments, route.n_segments};
    };
    b.put = [&](int s) { return i32(scalar_maps_[t][s]); };
    b.get = [&](int s) {
      for (int j = 0; j < int(o.finishes.size()); j++) {
        auto& to = rank_.reductions()[o.finishes[j]].to;
        for (int k = 0; k < int(to.size()); k++)
          if (to[k] == s) return finished_code(j, k);
      }
      return i32(scalar_maps_[t][s]);
    };
    launch.turns.push_back(entry->bind(bytes, o.tests ? c.test->functor() : nullptr, b));
    if (t == 0) {
      i64 wanted = 1, chunks = 0;
      for (int j = 0; j < a.n_groups; j++) chunks += a.group[j].n_chunks;
      wanted = std::max(wanted, chunks);
      if (a.all_send)
        for (int v : o.puts)
          wanted = std::max(wanted, (rank_.vectors()[v].exchange->rows_sent() + block_threads - 1) / block_threads);
      launch.wanted = wanted;
      if (wanted <= few_rounds * few_blocks * mine_.multiprocessors)
        at_once = std::min<i64>(at_once, few_blocks * mine_.multiprocessors);
      launch.blocks = int(std::min(wanted, at_once));
      if (resident_blocks > 0) launch.blocks = resident_blocks;
    }
    launch.args.push_back(a);
  }
  for (auto& a : launch.args) deal_groups(a, o, launch.blocks);
  launches.push_back(std::move(launch));
}

void Plan::fill_epochs(u32* epochs) const {
  for (auto [counter, id] : channels_) switch (counter) {
      case Counter::started: *epochs++ = rank_.reductions()[id].started; break;
      case Counter::finished: *epochs++ = rank_.reductions()[id].finished; break;
      case Counter::pushed: *epochs++ = rank_.pushed[id]; break;
      case Counter::seen: *epochs++ = rank_.seen[id]; break;
    }
}

EpochRef Plan::epoch(Counter counter, int id) {
  auto at = std::find(channels_.begin(), channels_.end(), std::pair(counter, id));
  if (at == channels_.end()) {
    channels_.push_back({counter, id});
    at = channels_.end() - 1;
  }
  return {i32(at - channels_.begin()), 0};
}

}  // namespace sordino::cuda
