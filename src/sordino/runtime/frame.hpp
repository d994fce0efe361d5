// What the CPU engines share: the arithmetic of each phase of a recording bound to one rank's memory. No waiting, no time.
#pragma once
#include "sordino/runtime/rank.hpp"

namespace sordino {

class Frame : public Program {
 public:
  Frame(Rank& rank, const Recording& recording, std::vector<int> vector_map, std::vector<int> scalar_map,
        const std::function<double*(int physical)>& storage);

  const Recording& recording() const { return rec_; }
  int turn(int iteration) const { return iteration % rec_.period; }  // which bindings hold
  int physical_vector(int turn, int logical) const { return vector_maps_[turn][logical]; }
  int physical_scalar(int turn, int logical) const { return scalar_maps_[turn][logical]; }

  void launch(const Command& c);  // books the command
  void head(int turn, int command);
  Verdict test(int turn, int command);  // appends to the history
  void tasks(int turn, int command, int group);
  void host_task(int turn, int command);
  /// Sums of my blocks, in order. out [my blocks][K]
  void block_sums(const Command& c, double* out) const;
  /// Adds the blocks of all ranks in global order, so that every rank gets the same bits. all [blocks][K]
  void deliver(int turn, int slot, const double* all);
  /// My blocks, added up, and behind them whether a stop is asked for: my part of a sum by another way. [K + 1]
  std::vector<double> own_part(const Command& c, bool stop) const;
  /// What such parts add up to; whether anybody asks for a stop.
  bool deliver_sum(int turn, int slot, const std::vector<double>& sum);
  void book_put(const Exchange& exchange);
  static void pack(const ExchangePeer& peer, const double* rows, double* to);

 protected:
  Rank& rank_;

 private:
  ScalarView scalars(int turn);

  const Recording& rec_;
  std::vector<std::vector<int>> vector_maps_, scalar_maps_;      // [period]
  std::vector<std::vector<std::unique_ptr<Body>>> bodies_;       // [period][command]
  std::vector<std::vector<std::unique_ptr<Test>>> tests_;        // [period][command]
  std::vector<std::vector<std::vector<RowRange>>> group_tiles_;  // [command][group] ranges of tiles
  std::vector<std::vector<double>> tile_sums_;                   // [queue][tiles][K] of the command under way
};

}  // namespace sordino
