#include "sordino/comm/transport/mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi_comm.hpp"
#include "sordino/comm/transport/mpi_departure.hpp"
#include "sordino/comm/transport/mpi_lock.hpp"
#include "sordino/comm/transport/mpi_operations.hpp"

namespace sordino::mpi {
namespace {

bool launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (std::getenv(name)) return true;
  return false;
}

// Others may still have to say farewell: they get a moment, and what is left then goes with MPI.
void finalize_ours() {
  int done = 0;
  MPI_Finalized(&done);
  if (done) return;
  for (int k = 0; k < 100 && free_departed() > 0; k++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MPI_Finalize();
}

class MpiReduction final : public LibraryReduction {
 public:
  MpiReduction(Fold fold, Scalar type, std::vector<std::byte> values, MPI_Comm comm) : state_(std::make_unique<State>()) {
    state_->values = std::move(values);
    std::lock_guard lock(the_lock());
    auto [datatype, operation] = folding(fold, type);
    MPI_Iallreduce(MPI_IN_PLACE, state_->values.data(), int(state_->values.size() / std::size_t(type.bytes)), datatype,
                   operation, comm, &state_->request);
  }
  ~MpiReduction() override {
    if (!test()) state_.release();  // the library still writes there
  }
  bool test() override {
    if (state_->request == MPI_REQUEST_NULL) return true;
    std::lock_guard lock(the_lock());
    int done = 0;
    MPI_Test(&state_->request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }
  const std::vector<std::byte>& values() const override { return state_->values; }

 private:
  struct State {
    std::vector<std::byte> values;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::unique_ptr<State> state_;
};

class MpiTransport final : public Transport {
 public:
  MpiTransport(int process, std::vector<int> ranks, bool reaches_devices, MPI_Comm comm)
      : process_(process), ranks_(std::move(ranks)), reaches_devices_(reaches_devices), comm_(comm) {}

  // Peers may still wait for what was sent last; give them a bounded time, then leave.
  ~MpiTransport() override {
    using clock = std::chrono::steady_clock;
    auto limit = clock::now() + std::chrono::seconds(2);
    for (;;) {
      {
        std::lock_guard lock(the_lock());
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized) return;
        retire();
        if ((sending_.empty() && sending_placed_.empty()) || clock::now() > limit) {
          forget_receives();
          sending_.splice(sending_.end(), sending_placed_);
          depart(comm_, std::move(sending_));
          return;
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  const char* name() const override { return "mpi"; }
  int processes() const override { return int(ranks_.size()); }
  int process() const override { return process_; }
  const std::vector<int>& ranks_of_processes() const override { return ranks_; }

  void send(int process, const Message& header, const void* data, std::size_t bytes) override {
    check_length(bytes);
    std::lock_guard lock(the_lock());
    retire();
    auto& s =
        free_.empty() ? sending_.emplace_back() : (sending_.splice(sending_.end(), free_, free_.begin()), sending_.back());
    s.buffer.resize(sizeof header + bytes);
    std::memcpy(s.buffer.data(), &header, sizeof header);
    if (bytes) std::memcpy(s.buffer.data() + sizeof header, data, bytes);
    MPI_Isend(s.buffer.data(), int(s.buffer.size()), MPI_BYTE, process, message_tag, comm_, &s.request);
  }

  void send_placed(int process, const void* data, std::size_t bytes) override {
    check_length(bytes);
    std::lock_guard lock(the_lock());
    MPI_Request& request = sending_placed_.emplace_back(Sending{}).request;
    MPI_Isend(data, int(bytes), MPI_BYTE, process, placed_tag, comm_, &request);
  }

  void receive_placed(int process, void* to, std::size_t bytes, std::function<void()> arrived) override {
    check_length(bytes);
    std::lock_guard lock(the_lock());
    Receiving& r = receiving_.emplace_back();
    r.arrived = std::move(arrived);
    MPI_Irecv(to, int(bytes), MPI_BYTE, process, placed_tag, comm_, &r.request);
  }

  bool reaches_devices() const override { return reaches_devices_; }

  int poll(const Deliver& deliver) override {
    std::unique_lock lock(the_lock(), std::try_to_lock);
    if (!lock) return 0;
    int count = take_placed();
    for (;; count++) {
      int there = 0;
      MPI_Status status;
      MPI_Message message;
      MPI_Improbe(MPI_ANY_SOURCE, message_tag, comm_, &there, &message, &status);
      if (!there) break;
      int size = 0;
      MPI_Get_count(&status, MPI_BYTE, &size);
      received_.resize(std::size_t(size));
      MPI_Mrecv(received_.data(), size, MPI_BYTE, &message, &status);
      Message header;
      std::memcpy(&header, received_.data(), sizeof header);
      deliver(header, received_.data() + sizeof header, received_.size() - sizeof header);
    }
    retire();
    return count;
  }

  bool all_sent() override {
    std::lock_guard lock(the_lock());
    retire();
    return sending_.empty() && sending_placed_.empty();
  }

  bool reduces() const override { return true; }
  std::unique_ptr<LibraryReduction> start_all_reduce(Fold fold, Scalar type, std::vector<std::byte> values) override {
    if (values.size() > most_bytes) throw Error(Errc::unsupported, "MPI reduces at most 2 GiB at a time here");
    return std::make_unique<MpiReduction>(fold, type, std::move(values), comm_);
  }

 private:
  static constexpr std::size_t most_bytes = 0x7fffff00;

  struct Receiving {
    MPI_Request request = MPI_REQUEST_NULL;
    std::function<void()> arrived;
  };

  static void check_length(std::size_t bytes) {
    if (bytes > most_bytes) throw Error(Errc::unsupported, "a message of more than 2 GiB to another process is not supported");
  }

  static bool ended(MPI_Request& request) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  int take_placed() {
    int count = 0;
    for (auto r = receiving_.begin(); r != receiving_.end();) {
      if (!ended(r->request)) {
        ++r;
        continue;
      }
      auto arrived = std::move(r->arrived);
      r = receiving_.erase(r);
      arrived();
      count++;
    }
    return count;
  }

  // After a fault: what was to come has no place any more.
  void forget_receives() {
    for (Receiving& r : receiving_) {
      MPI_Cancel(&r.request);
      MPI_Request_free(&r.request);
    }
    receiving_.clear();
  }

  // Buffers of completed sends are kept for later ones: after some iterations nothing is allocated.
  void retire() {
    sending_placed_.remove_if([](Sending& s) { return ended(s.request); });
    for (auto s = sending_.begin(); s != sending_.end();) {
      auto next = std::next(s);
      if (ended(s->request)) free_.splice(free_.end(), sending_, s);
      s = next;
    }
  }

  int process_;
  std::vector<int> ranks_;
  bool reaches_devices_;
  MPI_Comm comm_;
  std::list<Sending> sending_, free_;
  std::list<Sending> sending_placed_;  // without buffers
  std::list<Receiving> receiving_;
  std::vector<std::byte> received_;
};

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
  int initialized = 0, finalized = 0, granted = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (!initialized || finalized)
    throw Error(Errc::unsupported, "MPI is not running: call MPI_Init_thread before, and not MPI_Finalize");
  MPI_Query_thread(&granted);
  if (granted < MPI_THREAD_SERIALIZED)
    throw Error(Errc::unsupported, "MPI grants no MPI_THREAD_SERIALIZED: initialise it with MPI_Init_thread");
}

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, std::size_t(length));
  return version.substr(0, version.find_first_of(",\n"));
}

World world() {
  World w;
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
  std::lock_guard lock(the_lock());
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
  return std::make_unique<MpiTransport>(process, ranks, all_aware != 0, comm);
}

std::unique_ptr<Hall> hall(int local_ranks, int host) {
  return world().processes == 1 ? nullptr : hall(MPI_COMM_WORLD, local_ranks, host);
}

std::unique_ptr<Hall> hall(MPI_Comm comm, int local_ranks, int host) {
  need_threads();
  std::lock_guard lock(the_lock());
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
