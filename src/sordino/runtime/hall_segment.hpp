// Inside the hall: what lies in its shared memory. All of it begins as zeros, which is how fresh memory comes. Not for users.
#pragma once
#include <chrono>

#include "sordino/runtime/cause_record.hpp"
#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/process_id.hpp"

namespace sordino {

inline constexpr std::size_t hall_page = 4096;

inline i64 milliseconds_now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

struct Hall::Member {
  ProcessId id;
  std::atomic<u32> busy, runs, closed, left;
};

struct Hall::Segment {
  Pulse pulse;  // at the beginning of a page: devices are given that
  alignas(hall_page) Gate ranks;
  alignas(64) Gate processes;
  alignas(64) std::atomic<u32> unmappable;
  alignas(64) std::atomic<u32> fault;
  i32 code;
  char cause[2048];
  CauseRecord known;
  Invitation invitation;
  Member members[most_processes];
};

struct Hall::Seat {
  struct Place {
    BlockPlace place;
    std::atomic<u32> published;
  };
  alignas(64) std::atomic<u32> waiting;
  alignas(64) std::atomic<u32> complained;
  i32 iteration, command;
  char complaint[512];
  CauseRecord known;
  DeviceIdentity device;
  std::atomic<u32> published[most_blocks];
  BlockHandle blocks[most_blocks];
  Place places[2][most_names];
};

}  // namespace sordino
