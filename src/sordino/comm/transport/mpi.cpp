#include "sordino/comm/transport/mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi_calls.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/comm/transport/mpi_departure.hpp"
#include "sordino/comm/transport/mpi_transport.hpp"

namespace sordino::mpi {
namespace {

bool launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (std::getenv(name)) return true;
  return false;
}

/// What a launcher says of the number of its processes; 1 where none has said anything.
int processes_launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* said = std::getenv(name)) return std::atoi(said);
  return 1;
}

// Others may still have to say farewell: they get a moment, and what is left then goes with MPI.
void finalize_ours() {
  int done = 0;
  MPI_Finalized(&done);
  if (done) return;
  for (int k = 0; k < 100 && free_departed() > 0; k++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MPI_Finalize();
}

// --- the way into a hall ---------------------------------------------------------------------------------------------------

struct Word {
  char text[256] = {};
};

/// Throws in all processes what one of them has to say, the first one's if there are several.
void agree(MPI_Comm comm, const std::string& refusal) {
  int processes = 0;
  MPI_Comm_size(comm, &processes);
  Word mine;
  refusal.copy(mine.text, sizeof mine.text - 1);
  std::vector<Word> all(static_cast<std::size_t>(processes));
  MPI_Allgather(&mine, sizeof mine, MPI_CHAR, all.data(), sizeof mine, MPI_CHAR, comm);
  for (auto& word : all)
    if (word.text[0]) throw Error(Errc::unsupported, word.text);
}

template <class Make>
std::string refusal_of(const Make& make) {
  try {
    make();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// The communicator of the processes of this one's host; `host` >= 0: of those that say the same.
MPI_Comm neighbours(MPI_Comm comm, int host) {
  MPI_Comm near;
  if (host >= 0)
    MPI_Comm_split(comm, host, 0, &near);
  else
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
  return near;
}

/// For every process the host it is on: hosts count from 0, in the order of their first processes.
std::vector<int> hosts_of(MPI_Comm comm, MPI_Comm near) {
  int process = 0, processes = 0;
  MPI_Comm_rank(comm, &process);
  MPI_Comm_size(comm, &processes);
  int first = process;
  MPI_Bcast(&first, 1, MPI_INT, 0, near);
  std::vector<int> firsts(static_cast<std::size_t>(processes)), hosts;
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, comm);
  std::vector<int> known = firsts;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (int f : firsts) hosts.push_back(int(std::lower_bound(known.begin(), known.end(), f) - known.begin()));
  return hosts;
}

}  // namespace

void need_threads() {
  if (std::string why = absence(); !why.empty()) throw Error(Errc::unsupported, why);
  int initialized = 0, finalized = 0, granted = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    throw Error(Errc::unsupported, "MPI is not running: call MPI_Init_thread before, and not MPI_Finalize");
  MPI_Query_thread(&granted);
  if (granted < MPI_THREAD_SERIALIZED)
    throw Error(Errc::unsupported, "MPI grants no MPI_THREAD_SERIALIZED: initialise it with MPI_Init_thread");
  calls_are_serialized();
}

std::string library() {
  if (!absence().empty()) return "";
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, std::size_t(length));
  return version.substr(0, version.find_first_of(",\n"));
}

World world() {
  World w;
  w.reason = absence();
  if (!w.reason.empty()) {  // each of several processes would solve the whole problem, and write the same files
    if (processes_launched() > 1) throw Error(Errc::unsupported, w.reason);
    return w;
  }
  int initialized = 0, finalized = 0;
  MPI_Finalized(&finalized);
  MPI_Initialized(&initialized);
  if (finalized) {
    w.reason = "MPI has been finalised";
    return w;
  }
  if (!initialized) {
    if (!launched()) {
      w.reason = "not started by an MPI launcher";
      return w;
    }
    int granted = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &granted);  // so that callers may go on with theirs meanwhile
    std::atexit(finalize_ours);
  }
  w.initialized = true;
  w.threads = granted_threads();
  w.serialized = calls_are_serialized();
  MPI_Comm_rank(MPI_COMM_WORLD, &w.process);
  MPI_Comm_size(MPI_COMM_WORLD, &w.processes);
  if (w.processes == 1) w.reason = "MPI runs one process";
  if (w.processes > 1) need_threads();
  return w;
}

std::unique_ptr<Transport> transport(int local_ranks) {
  return world().processes == 1 ? nullptr : transport(MPI_COMM_WORLD, local_ranks);
}

std::unique_ptr<Transport> transport(MPI_Comm callers, int local_ranks) {
  need_threads();
  Calling now;
  int process = 0, processes = 0;
  MPI_Comm_rank(callers, &process);
  MPI_Comm_size(callers, &processes);
  if (processes == 1) return nullptr;
  free_departed();
  MPI_Comm comm;
  MPI_Comm_dup(callers, &comm);
  std::vector<int> ranks(static_cast<std::size_t>(processes));
  MPI_Allgather(&local_ranks, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm);
  int aware = reaches_devices() == Answer::yes, all_aware = 0;
  MPI_Allreduce(&aware, &all_aware, 1, MPI_INT, MPI_MIN, comm);
  return make_transport(process, ranks, all_aware != 0, comm);
}

std::unique_ptr<Hall> hall(int local_ranks, int host) {
  return world().processes == 1 ? nullptr : hall(MPI_COMM_WORLD, local_ranks, host);
}

std::unique_ptr<Hall> hall(MPI_Comm comm, int local_ranks, int host) {
  need_threads();
  Calling now;
  int process = 0, processes = 0;
  MPI_Comm_rank(comm, &process);
  MPI_Comm_size(comm, &processes);
  if (processes == 1) return nullptr;
  MPI_Comm near = neighbours(comm, host);
  int place = 0;
  MPI_Comm_rank(near, &place);
  std::vector<int> ranks(static_cast<std::size_t>(processes));
  MPI_Allgather(&local_ranks, 1, MPI_INT, ranks.data(), 1, MPI_INT, comm);
  Guests guests(ranks, hosts_of(comm, near));
  std::unique_ptr<Hall> hall;
  std::string refusal = place > 0 ? "" : refusal_of([&] { hall = Hall::make(guests, process); });
  Word name;
  if (hall) hall->name().copy(name.text, sizeof name.text - 1);
  MPI_Bcast(&name, sizeof name, MPI_CHAR, 0, near);
  MPI_Comm_free(&near);
  agree(comm, refusal);
  if (place > 0) refusal = refusal_of([&] { hall = Hall::enter(name.text, guests, process); });
  agree(comm, refusal);
  hall->remove_name();
  return hall;
}

}  // namespace sordino::mpi
