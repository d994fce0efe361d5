// Processes of one host whose devices reach each other's memory: what engines and teams of several processes share. Not for
// users.
#pragma once
#include <vector>

#include "sordino/base/error.hpp"
#include "sordino/runtime/hall.hpp"

namespace sordino::cuda {

/// The devices of this process, of those wanted, or of all there are. A list that is long enough for the ranks of all
/// processes is everybody's, and each process takes its share by position; else, as where a launcher shows each process other
/// devices, it is this one's alone. Without a hall: all.
std::vector<int> devices_of(const std::vector<int>& wanted, const Hall* hall);

/// Throws `unsupported`: between processes each rank needs a device of its own, and ranks of this one would share some.
[[noreturn]] void refuse_few_devices(int ranks, int devices);
/// Says in the hall which device each rank of this process has.
void tell_devices(Hall& hall, const std::vector<int>& devices);
/// Behind a meeting: throws `unsupported` if ranks of different processes have the same device.
void refuse_shared_devices(const Hall& hall);

/// Blocks of this many bytes, the driver's unit, share nothing else with anybody who maps them.
constexpr std::size_t mapped_unit = std::size_t(2) << 20;
/// Lets the other processes of the host map memory of cudaMalloc's, by a number of the rank's.
void share_memory(Hall& hall, int rank, int block, void* memory);
/// Behind a meeting: where the memory that another process's rank has shared lies for `rank`, on whose device, which is
/// current, it is mapped. To be closed with cudaIpcCloseMemHandle. Throws `unsupported` if the device does not reach it.
char* map_memory(const Hall& hall, int rank, int device, int owner, int block);
/// This process has unmapped what is others'. Waits a few seconds, or until the others' runs have ended, for them to do the
/// same; false: one still maps, so what it may map is not to be freed.
bool wait_for_unmapping(Hall& hall);

/// Raises what happened to a process that is lost.
void look_for_lost(Hall& hall);
/// Raises an error. The memory of a process that dies goes with it: what its peers' devices then say is a consequence, so an
/// error of a device waits 0.3 s for a process to be found lost.
void raise_or_lost(Hall& hall, const Error& error);

}  // namespace sordino::cuda
