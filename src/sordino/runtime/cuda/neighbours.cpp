#include "sordino/runtime/cuda/neighbours.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "sordino/base/clock.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/peers.hpp"

namespace sordino::cuda {
namespace {

DeviceIdentity identity_of(int device) {
  cudaDeviceProp properties{};
  call("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, device));
  DeviceIdentity identity;
  static_assert(sizeof properties.uuid == sizeof identity);
  std::memcpy(identity.data(), &properties.uuid, sizeof identity);
  return identity;
}

}  // namespace

std::vector<int> devices_of(const std::vector<int>& wanted, const Hall* hall) {
  std::vector<int> devices = chosen_devices(wanted);
  if (!hall || int(devices.size()) < hall->ranks()) return devices;
  auto mine = devices.begin() + hall->first_rank();
  return {mine, mine + hall->local_ranks()};
}

void refuse_few_devices(int ranks, int devices) {
  throw Error(Errc::unsupported, "where several processes work together every rank needs a GPU of its own, and here are " +
                                     std::to_string(ranks) + " ranks for " + std::to_string(devices) +
                                     ": start fewer ranks, or one process, whose ranks can share a GPU");
}

void tell_devices(Hall& hall, const std::vector<int>& devices) {
  for (int i = 0; i < hall.local_ranks(); i++)
    hall.set_device(hall.first_rank() + i, identity_of(devices[std::size_t(i) % devices.size()]));
}

void refuse_shared_devices(const Hall& hall) {
  for (int a = hall.first_rank(); a < hall.first_rank() + hall.local_ranks(); a++)
    for (int b = 0; b < hall.ranks(); b++)
      if (!hall.is_local(b) && hall.is_near(b) && hall.device(a) == hall.device(b))
        throw Error(Errc::unsupported, "ranks " + std::to_string(std::min(a, b)) + " and " + std::to_string(std::max(a, b)) +
                                           " are in different processes and on the same GPU: give each a GPU of its own, or "
                                           "start one process, whose ranks can share a GPU");
}

void share_memory(Hall& hall, int rank, int block, void* memory) {
  cudaIpcMemHandle_t handle;
  call("cudaIpcGetMemHandle", cudaIpcGetMemHandle(&handle, memory));
  BlockHandle shared;
  static_assert(sizeof handle == sizeof shared.bytes);
  std::memcpy(shared.bytes.data(), &handle, sizeof handle);
  hall.publish(rank, block, shared);
}

char* map_memory(const Hall& hall, int rank, int device, int owner, int block) {
  BlockHandle shared = hall.block(owner, block);
  cudaIpcMemHandle_t handle;
  std::memcpy(&handle, shared.bytes.data(), sizeof handle);
  void* p = nullptr;
  try {
    call("cudaIpcOpenMemHandle", cudaIpcOpenMemHandle(&p, handle, cudaIpcMemLazyEnablePeerAccess));
  } catch (const Error& error) {
    throw Error(Errc::unsupported, "device " + std::to_string(device) + " of rank " + std::to_string(rank) +
                                       " cannot reach the memory of rank " + std::to_string(owner) +
                                       ", which is another process's: run all ranks in one process, or choose devices that "
                                       "reach each other, in one container (" +
                                       error.what() + ")");
  }
  return static_cast<char*>(p);
}

// The last of a run may still be under way elsewhere; but a process that keeps what it maps keeps nobody else for it.
bool wait_for_unmapping(Hall& hall) {
  hall.close();
  double begin = seconds_now(), patience = hall.raised() ? 2 : 5;
  while (!hall.all_closed()) {
    if (hall.others_busy() && !hall.raised()) begin = seconds_now();
    if (seconds_now() - begin > patience) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void look_for_lost(Hall& hall) {
  if (hall.raised()) return;
  if (int lost = hall.find_lost(); lost >= 0)
    hall.raise({Errc::peer_failed, hall.obituary(lost), {.rank = hall.first_rank(lost)}});
}

void raise_or_lost(Hall& hall, const Error& error) {
  constexpr double until_it_is_seen = 0.3;
  double begin = seconds_now();
  while (error.code() == Errc::device && hall.processes() > 1 && !hall.raised() && seconds_now() - begin < until_it_is_seen) {
    look_for_lost(hall);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  hall.raise(error);
}

}  // namespace sordino::cuda
