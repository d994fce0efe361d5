// What each launch is told: addresses, counts and epochs of one turn of the rotation.
#include "sordino/runtime/cuda/plan.hpp"

namespace sordino::cuda {

/// Sums that need no other rank come at once.
bool Plan::may_be_late(const ReductionMemory& d) const { return state_.options.late_sums && d.targets > 1; }

Args Plan::arguments(const Outline& o, int turn, const Entry& entry, Launch& launch) {
  Args a;
  a.control = &mine_.control->control;
  a.scalars = mine_.control->scalars;
  a.epochs = mine_.control->epochs;
  a.engine = mine_.pulse;
  a.ranks = rank_.size();
  a.command = o.index;
  a.commands = i32(rec_.commands.size());
  for (int slot : o.finishes) {
    const ReductionMemory& d = state_.reduction(rank_, slot);
    FinishArgs& f = a.finish[a.n_finishes++];
    f.packets = d.packets;
    f.epoch = epoch(Counter::finished, slot);
    f.parts = d.parts;
    f.values = d.values;
    if (may_be_late(d)) f.due = d.due;
    a.finishes_late |= f.due != nullptr;
    for (int k = 0; k < d.values; k++) f.to[k] = std::int16_t(scalar_maps_[turn][rank_.reductions()[slot].to[k]]);
    a.parts += d.parts * d.values;
  }
  if (order_ == SumOrder::grid && a.parts > most_parts)
    throw Error(Errc::unsupported, o.command->name + ": finishes too many values for the cuda engine");
  launch.awaits.emplace_back();
  for (int logical : o.awaits) {
    int v = physical_vector(turn, logical);
    const VectorMemory& m = mine_.vectors[v];
    const Exchange& x = *rank_.vectors()[v].exchange;
    AwaitArgs& w = a.await[a.n_awaits++];
    w.flags = m.flags;
    w.sent = x.everybody || x.hop == Hop::second ? m.sent : nullptr;
    w.epoch = epoch(Counter::seen, v);
    w.peers = i32(x.peers.size());
    launch.awaits.back().push_back(v);
  }
  add_groups(a, o, entry);
  add_sending(a, o, turn, launch);
  if (o.starts >= 0) {
    const ReductionMemory& d = state_.reduction(rank_, o.starts);
    a.start.partials = d.partials;
    a.start.to = d.to;
    a.start.epoch = epoch(Counter::started, o.starts);
    a.start.stride = mine_.grid_limit;
    a.start.tile_sums = d.tile_sums;
    a.start.tiles_done = d.tiles_done;
    if (order_ == SumOrder::fixed) a.start.tiles = state_.tile_tables(mine_, rank_.space(o.command->space));
    a.start.targets = d.pushes;
    a.start.parts = d.parts;
    a.start.place = d.place;
    a.start.slot = o.starts;
    a.start.tells_stop = d.targets == rank_.size();
    if (may_be_late(d)) a.start.due = d.due;
  }
  const Injection& inject = state_.options.inject;
  if (inject.rank == rank_.id() && inject.command == o.command->name) {
    if (inject.mute) a.mute_at = inject.iteration;
    if (inject.delay > 0 || inject.trap) {
      a.late_at = inject.iteration;
      a.late_us = inject.trap ? traps : u32(inject.delay * 1e6);
    }
  }
  return a;
}

void Plan::add_groups(Args& a, const Outline& o, const Entry& entry) {
  i32 tiles = 0;
  for (auto& g : o.groups) {
    GroupArgs& to = a.group[a.n_groups++];
    to.awaits = g.awaits;
    to.puts = g.puts;
    if (g.tasks >= 0) {
      auto& ranges = *o.command->groups[g.tasks].ranges;
      bool by_tiles = order_ == SumOrder::fixed && o.command->sums > 0;
      const RowLists& l = by_tiles ? state_.tile_list(mine_, rank_.space(o.command->space), ranges)
                                   : state_.row_lists(mine_, ranges, entry.threads_a_row);
      to.first = l.first;
      to.last = l.last;
      to.chunks = l.chunk_list;
      to.rows = l.row_list;
      to.n_rows = l.n_rows;
      to.one_range = !l.chunk_list && !l.row_list;
      to.tiles = l.tile_list;
      to.n_tiles = l.n_tiles;
      tiles += l.n_tiles;
      to.n_chunks = l.chunks;
    }
  }
  // A block is sent by whoever completes it.
  if (o.starts < 0 || order_ != SumOrder::fixed) return;
  const Space& space = rank_.space(o.command->space);
  bool empty = space.my_blocks() == 0;
  for (i32 b = 0; b < space.my_blocks(); b++) empty |= space.block_tiles[b] == space.block_tiles[b + 1];
  if (empty || tiles != space.tiles())
    throw Error(Errc::unsupported,
                o.command->name + ": deterministic sums are taken over all rows of a space without empty blocks");
}

// Does the group compute rows that are to be sent?
bool Plan::group_sends(const Outline& o, int group) const {
  const Group& g = o.groups[group];
  if (g.tasks < 0) return false;
  RowSet rows;
  rows.add(*o.command->groups[g.tasks].ranges);
  rows.sort();
  for (int v : o.puts) {
    if (can_send_itself(o, v)) return true;
    if (!contains(o.command->writes, v)) continue;
    bool some = false;
    for (auto& p : rank_.vectors()[v].exchange->peers)
      for_sent_runs(p, [&](RowRange sent, i32) { some = some || rows.has_some(sent); });
    if (some) return true;
  }
  return false;
}

/// The word that this rank has sent with the first hop lies behind those that have come.
void Plan::hear(PutArgs& p, const Command& c, int turn, Hop hop) const {
  if (hop != Hop::second) return;
  auto comes_first = [&](int v) { return rank_.vectors()[v].exchange->hop == Hop::first; };
  const auto handed_on = std::find_if(c.ghosts.begin(), c.ghosts.end(), comes_first);
  if (handed_on == c.ghosts.end()) bad_argument(c.name + ": a second hop hands on what has come by a first one");
  const int v = physical_vector(turn, *handed_on);
  p.heard = mine_.vectors[v].flags;
  p.heard_from = i32(rank_.vectors()[v].exchange->peers.size()) + 1;
}

void Plan::add_sending(Args& a, const Outline& o, int turn, Launch& launch) {
  launch.puts.emplace_back();
  for (int logical : o.puts) {
    int v = physical_vector(turn, logical);
    const Route& route = state_.route(rank_, v);
    PutArgs& p = a.put[a.n_puts++];
    p.flags = route.flags;
    p.sent = mine_.vectors[v].sent;
    p.epoch = epoch(Counter::pushed, v);
    p.peers = route.peers;
    hear(p, *o.command, turn, rank_.vectors()[v].exchange->hop);
    p.by_itself = can_send_itself(o, logical);
    p.by_rows = !p.by_itself && can_send_by_rows(o, logical);
    a.all_send |= !p.by_rows && !p.by_itself;
    if (!p.by_itself) {
      p.rows = mine_.vectors[v].rows;
      p.segments = route.segments;
      p.entries = route.entries;
      p.row_entries = route.row_entries;
      p.n_segments = route.n_segments;
      p.n_entries = route.n_entries;
    }
    launch.puts.back().push_back(v);
  }
  if (a.n_puts == 0) return;
  // From the first group that sends to the last: the blocks that compute these rows also tell when they are sent.
  int first = -1, last = -1;
  for (int j = 0; j < a.n_groups && last < 0; j++) {
    if (group_sends(o, j)) first = first < 0 ? j : first;
    if (a.group[j].puts) last = j;
  }
  for (int j = first; j >= 0 && j <= last; j++) a.group[j].sends = true;
  // Nothing to send is told to the others all the same.
  if (first < 0) a.all_send = true;
}

// Blocks that come while others still compute are dealt to whichever multiprocessor has room, and so are their rows: what
// neighbours share meets in fewer caches (ADR 23). That costs a long command more than coming early gains a short one.
constexpr i32 most_early_rounds = 12;  // of chunks, for each block

// Who computes which chunks, and so who takes part in sending, depends on the grid.
void Plan::deal_groups(Args& a, const Outline& o, int blocks) const {
  const Command& c = *o.command;
  double sent = 0, senders = 0;  // bytes; chunks
  for (int v : o.puts) sent += double(rank_.vectors()[v].exchange->rows_sent()) * sizeof(double);
  for (int j = 0; j < a.n_groups; j++) senders += a.group[j].sends * a.group[j].n_chunks;
  std::vector<Load> loads;
  for (int j = 0; j < a.n_groups; j++) {
    const GroupArgs& g = a.group[j];
    bool sends = g.sends && !a.all_send;
    int tasks = o.groups[j].tasks;
    double share = tasks < 0 ? 0 : c.groups[tasks].share;
    loads.push_back({g.n_chunks, g.awaits, sends, share * c.bytes, sends ? sent * g.n_chunks / std::max(1.0, senders) : 0,
                     share * c.flops});
  }
  a.blocks = blocks;
  const Dealing& by = state_.options.dealing;
  auto hands = deal(loads, blocks, asides_of(loads, blocks, by.aside, by.in_flight, mine_.pace));
  for (int j = 0; j < a.n_groups; j++) {
    a.group[j].n_hands = i32(hands[j].size());
    std::copy(hands[j].begin(), hands[j].end(), a.group[j].hand);
  }
  i32 chunks = 0;
  for (int j = 0; j < a.n_groups; j++) chunks += a.group[j].n_chunks;
  a.calls_early = chunks <= most_early_rounds * blocks;
  a.senders = a.n_puts == 0 ? 0 : a.all_send ? blocks : count_senders(loads, hands, blocks);
  if (a.n_puts > 0 && a.senders == 0) {  // a rank without such rows: the others are told all the same
    a.all_send = true;
    a.senders = blocks;
  }
}

}  // namespace sordino::cuda
