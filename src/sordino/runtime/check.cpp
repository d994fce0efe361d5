#include "sordino/runtime/check.hpp"

#include <map>

#include "sordino/base/error.hpp"
#include "sordino/runtime/contains.hpp"

namespace sordino {
namespace {

/// One walk over the unrolled recording: which reductions are open, which halos unread, and what orders a push after a read.
class Walk {
 public:
  Walk(const Rank& rank, const Recording& recording) : rank_(rank), rec_(recording) {
    for (auto& r : rank.reductions()) {
      open_.push_back(r.started != r.finished);
      started_.push_back(-1);
      carrier_.push_back(-1);
    }
    for (std::size_t v = 0; v < rank.pushed.size(); v++)
      if (rank.pushed[v] != rank.seen[v]) unread_[int(v)] = -1;
  }

  void run(bool predicated) {
    int sweeps = rec_.is_loop ? 2 * rec_.period + 1 : 1;
    for (int s = 0; s < sweeps; s++) {
      map_ = rotated(rank_.vector_map(), rec_.rotate, s % rec_.period);
      for (auto& c : rec_.commands) {
        if (c.every == 0 || predicated) command(c);
      }
      if (s == 0 && rec_.is_loop) carried_reductions_end();
    }
    for (auto [v, read] : last_read_)
      if (rec_.is_loop || !met_since(v, read)) settling_.unsettled.insert(v);  // a loop may exit anywhere
  }

  const Settling& settling() const { return settling_; }

 private:
  const std::string& vector_name(int v) const { return rank_.vectors()[v].name; }
  const std::string& scalar_name(int s) const { return rank_.scalar_names()[s]; }
  const std::string& reduction_name(int slot) const { return scalar_name(rank_.reductions()[slot].to[0]); }
  [[noreturn]] void reject(const Command& c, const std::string& what) const {
    bad_argument("check of the recording: " + c.name + " " + what);
  }

  void command(const Command& c) {
    for (int v : c.ghosts) {
      if (sends_ahead(c, v)) continue;
      for (int w : c.writes)
        if (map_[w] == map_[v]) reject(c, "reads the ghosts of '" + vector_name(v) + "' and writes it");
      for (int w : c.pushes)
        if (map_[w] == map_[v]) reject(c, "reads and pushes the ghosts of '" + vector_name(v) + "'");
    }
    for (int w : c.puts)
      for (int g : c.gets)
        if (w == g && !c.groups.empty()) reject(c, "reads and writes the scalar '" + scalar_name(w) + "' (rotate it)");
    for (int v : c.reads) all_have_arrived(c, v, "reads");
    for (int v : c.writes) all_have_arrived(c, v, "writes");
    int reading = at_ + 1;
    for (auto& p : c.phases) {
      at_++;
      phase(c, p);
      if (p.op == Op::tasks || p.op == Op::host) reading = at_;
    }
    for (auto* touched : {&c.reads, &c.writes})
      for (int v : *touched)
        if (is_gathered(v)) last_read_[map_[v]] = reading;
  }

  // Does the command send its own rows of v before it waits for those of others, and read no others?
  static bool sends_ahead(const Command& c, int v) {
    for (auto& p : c.phases)
      if (p.slot == v && (p.op == Op::put || p.op == Op::await))
        return p.op == Op::put && contains(c.sends, v) && !contains(c.reads, v);
    return false;
  }

  // Whoever touches a gathered vector touches other ranks' rows.
  bool is_gathered(int v) const { return rank_.vectors()[v].exchange && rank_.space(rank_.vectors()[v].space).replicated; }

  void all_have_arrived(const Command& c, int v, const char* touches) const {
    if (!is_gathered(v) || !unread_.count(map_[v])) return;
    for (int w : c.ghosts)
      if (w == v) return;
    reject(c, std::string(touches) + " '" + vector_name(v) + "' before all ranks' rows have arrived (wait with a Whole field)");
  }

  void phase(const Command& c, const Phase& p) {
    switch (p.op) {
      case Op::finish:
        if (!open_[p.slot]) reject(c, "finishes the reduction into '" + reduction_name(p.slot) + "' twice, or without a start");
        if (int by = carrier_[p.slot]; by >= 0 && open_[by])
          reject(c, "finishes the reduction into '" + reduction_name(p.slot) + "' before that into '" + reduction_name(by) +
                        "', with which it travels");
        open_[p.slot] = false;
        if (!rank_.space(rank_.reductions()[p.slot].space).replicated) meetings_.push_back({started_[p.slot], at_, nullptr});
        break;
      case Op::head: scalars_are_there(c); break;
      case Op::exit_test:
        scalars_are_there(c);
        for (std::size_t i = 0; i < open_.size(); i++)
          if (open_[i]) reject(c, "may leave the loop with the reduction into '" + reduction_name(int(i)) + "' open");
        break;
      case Op::start:
        if (open_[p.slot]) reject(c, "starts the reduction into '" + reduction_name(p.slot) + "' again before it is finished");
        open_[p.slot] = true;
        started_[p.slot] = at_;
        carry(c, p.slot);
        break;
      case Op::await: arrive(c, p.slot); break;
      case Op::put: send(c, p.slot); break;
      default: break;
    }
  }

  // Who starts a reduction takes along what has joined it.
  void carry(const Command& c, int slot) {
    auto& joined = joined_[c.queue];
    carrier_[slot] = -1;
    if (c.joins) {
      joined.push_back(slot);
      return;
    }
    for (int other : joined) carrier_[other] = slot;
    joined.clear();
  }

  void scalars_are_there(const Command& c) const {
    for (int g : c.gets) {
      int slot = rank_.reduction_of(g);
      if (slot >= 0 && open_[slot]) reject(c, "reads '" + scalar_name(g) + "' while its reduction is open");
    }
  }

  void arrive(const Command& c, int v) {
    int p = map_[v];
    auto sent = unread_.find(p);
    if (sent == unread_.end()) reject(c, "waits for the ghosts of '" + vector_name(v) + "', which nobody pushes");
    meetings_.push_back({sent->second, at_, rank_.vectors()[v].exchange});
    unread_.erase(sent);
    last_read_[p] = at_;
  }

  // A push is safe if every neighbour has surely read the old ghosts. The program being the same on every rank, that is so if
  // something that all of them began after reading has ended here since: a reduction, or an exchange with the same peers.
  void send(const Command& c, int v) {
    int p = map_[v];
    if (unread_.count(p)) reject(c, "pushes '" + vector_name(v) + "' twice before it is read");
    auto read = last_read_.find(p);
    if (!met_since(p, 0)) settling_.early.insert(p);
    if (read != last_read_.end() && rank_.size() > 1 && !met_since(p, read->second))
      reject(c, "may overwrite the ghosts of '" + vector_name(v) +
                    "' before a neighbour has read them (no reduction in between: rotate the vector)");
    unread_[p] = at_;
  }

  // Has something ended that every peer of v began at `position` or later?
  bool met_since(int v, int position) const {
    for (auto& m : meetings_)
      if (m.began >= position && (!m.over || m.over == rank_.vectors()[v].exchange)) return true;
    return false;
  }

  void carried_reductions_end() const {
    for (std::size_t i = 0; i < open_.size(); i++) {
      if (!open_[i]) continue;
      bool ends = false;
      for (auto& c : rec_.commands)
        for (auto& p : c.phases) ends |= p.op == Op::finish && p.slot == int(i);
      if (!ends) bad_argument("check of the recording: the reduction into '" + reduction_name(int(i)) + "' is never finished");
    }
  }

  const Rank& rank_;
  const Recording& rec_;
  std::vector<int> map_;
  std::vector<char> open_;
  std::vector<int> started_;
  std::vector<int> carrier_;                // of a reduction that joins: the one that took it along last
  std::map<int, std::vector<int>> joined_;  // by queue: nobody has taken them along yet
  struct Meeting {
    int began, ended;      // positions
    const Exchange* over;  // with whom; null: all ranks
  };
  std::vector<Meeting> meetings_;
  std::map<int, int> unread_;     // pushed and not awaited: position of the push
  std::map<int, int> last_read_;  // position
  Settling settling_;
  int at_ = 0;  // phases walked through: a position
};

}  // namespace

Settling check(const Rank& rank, const Recording& recording) {
  Walk with(rank, recording), without(rank, recording);
  with.run(true);
  without.run(false);
  Settling s = with.settling();
  s.early.merge(Settling(without.settling()).early);
  s.unsettled.merge(Settling(without.settling()).unsettled);
  return s;
}

}  // namespace sordino
