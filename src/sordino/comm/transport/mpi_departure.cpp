#include "sordino/comm/transport/mpi_departure.hpp"

#include <algorithm>
#include <mutex>

namespace sordino::mpi {
namespace {

struct Departed {
  MPI_Comm comm;
  std::list<Sending> sending;
  int missing;  // farewells
};

// Never destroyed: MPI may still write and read there when the process ends.
struct AllDeparted {
  std::mutex mutex;
  std::list<Departed> list;
};
AllDeparted& departed() {
  static auto* all = new AllDeparted;
  return *all;
}

void receive_and_drop(Departed& d) {
  for (;;) {
    int there = 0, bytes = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, d.comm, &there, &message, &status);
    if (!there) return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::vector<std::byte> dropped(static_cast<std::size_t>(bytes));
    MPI_Mrecv(dropped.data(), bytes, MPI_BYTE, &message, &status);
    d.missing -= status.MPI_TAG == farewell_tag;
  }
}

bool may_be_freed(Departed& d) {
  receive_and_drop(d);
  d.sending.remove_if([](Sending& s) {
    int done = 0;
    MPI_Test(&s.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  return d.missing == 0 && d.sending.empty();
}

}  // namespace

void depart(MPI_Comm comm, std::list<Sending> sending) {
  int process = 0, processes = 0;
  MPI_Comm_rank(comm, &process);
  MPI_Comm_size(comm, &processes);
  for (int p = 0; p < processes; p++) {
    if (p == process) continue;
    Sending& farewell = sending.emplace_back();
    MPI_Isend(nullptr, 0, MPI_BYTE, p, farewell_tag, comm, &farewell.request);
  }
  {
    std::lock_guard lock(departed().mutex);
    departed().list.push_back({comm, std::move(sending), processes - 1});
  }
  free_departed();
}

int free_departed() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return 0;
  auto& [mutex, list] = departed();
  std::lock_guard lock(mutex);
  list.remove_if([](Departed& d) {
    if (!may_be_freed(d)) return false;
    MPI_Comm_free(&d.comm);
    return true;
  });
  return int(list.size());
}

}  // namespace sordino::mpi
