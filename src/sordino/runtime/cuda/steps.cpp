// The table that a kernel which stays works off: what each command of a chunk is told, in each iteration (resident.cuh).
#include "sordino/runtime/cuda/program.hpp"

namespace sordino::cuda {

std::vector<CudaProgram::StepPlace> CudaProgram::places_of_chunk() const {
  std::vector<StepPlace> places;
  for (int i = 0; i < chunk_; i++)
    for (auto& launch : plan_.launches)
      if (rec_.commands[launch.command].active(i)) places.push_back({&launch, i});
  return places;
}

// Sums of one rank, by few blocks, need nobody who collects them. But what is open at the end of a chunk, or of the loop,
// others look for where all reductions end: so they must have begun in the same iteration, and no exit may lie between.
bool CudaProgram::blocks_may_add(const std::vector<StepPlace>& places, std::size_t finisher) const {
  const int blocks = plan_.resident_blocks;
  if (blocks > most_blocks_by_themselves || 2 * blocks > mine_.grid_limit) return false;
  const StepPlace& at = places[finisher];
  auto begins = [&](std::size_t n, int slot) { return places[n].launch->args[0].start.slot == slot; };
  for (int slot : at.launch->finished_slots) {
    const ReductionMemory& d = mine_.reductions[slot];
    if (d.parts != 1 || d.pushes != 1) return false;
    std::size_t n = finisher;
    while (n > 0 && places[n - 1].iteration == at.iteration && !begins(n - 1, slot)) {
      n--;
      if (places[n].launch->tests && n < finisher) return false;
    }
    if (n == 0 || places[n - 1].iteration != at.iteration) return false;
  }
  return !at.launch->finished_slots.empty();
}

void CudaProgram::make_steps() {
  const ResidentEntry& kernel = *plan_.resident;
  const auto places = places_of_chunk();
  std::vector<std::byte> steps(places.size() * kernel.step_bytes);
  auto finishes = [&](std::size_t n, int slot) { return contains(places[n].launch->finished_slots, slot); };
  for (std::size_t n = 0; n < places.size(); n++) {
    const Launch& launch = *places[n].launch;
    StepHead head{told(launch, places[n].iteration), kernel.kind(*launch.functor, *launch.test)};
    head.stride = mine_.grid_limit;
    head.blocks_finish = blocks_may_add(places, n);
    if (head.blocks_finish)
      for (int j = 0; j < head.args.n_finishes; j++)
        head.args.finish[j].packets = mine_.reductions[launch.finished_slots[std::size_t(j)]].partials;
    if (int slot = head.args.start.slot; slot >= 0) {
      // Who has the end of a reduction knows that all blocks have started it.
      if (n + 1 < places.size()) head.meets = !finishes(n + 1, slot);
      std::size_t end = n + 1;
      while (end < places.size() && !finishes(end, slot)) end++;
      head.blocks_start = end < places.size() && blocks_may_add(places, end);
    }
    launch.turns[places[n].iteration % rec_.period]->write_step(&steps[n * kernel.step_bytes], head);
  }
  resident_steps_ = i32(places.size());
  if (!steps_) steps_ = state_.take_memory(mine_, steps.size(), "the steps of a kernel that stays");
  state_.copy_in(mine_, steps_, steps.data(), steps.size());
}

void CudaProgram::launch_resident() {
  ResidentArgs r;
  r.steps = steps_;
  r.count = resident_steps_;
  r.n_epochs = plan_.epoch_count();
  r.upload = mine_.control;
  plan_.resident->launch(r, plan_.resident_blocks, mine_.stream);
}

}  // namespace sordino::cuda
