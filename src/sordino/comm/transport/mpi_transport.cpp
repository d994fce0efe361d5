#include "sordino/comm/transport/mpi_transport.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "sordino/base/error.hpp"
#include "sordino/comm/transport/mpi_calls.hpp"
#include "sordino/comm/transport/mpi_departure.hpp"
#include "sordino/comm/transport/mpi_operations.hpp"

namespace sordino::mpi {
namespace {

bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

class MpiReduction final : public LibraryReduction {
 public:
  MpiReduction(Fold fold, Scalar type, std::vector<std::byte> values, MPI_Comm comm) : state_(std::make_unique<State>()) {
    state_->values = std::move(values);
    Calling now;
    auto [datatype, operation] = folding(fold, type);
    MPI_Iallreduce(MPI_IN_PLACE, state_->values.data(), int(state_->values.size() / std::size_t(type.bytes)), datatype,
                   operation, comm, &state_->request);
  }
  ~MpiReduction() override {
    if (is_finalized() || !test()) state_.release();  // the library may still write there
  }
  bool test() override {
    if (state_->request == MPI_REQUEST_NULL) return true;
    Calling now;
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
    while (!is_finalized() && !all_sent() && clock::now() < limit) std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (!is_finalized()) leave();
  }

  const char* name() const override { return "mpi"; }
  int processes() const override { return int(ranks_.size()); }
  int process() const override { return process_; }
  const std::vector<int>& ranks_of_processes() const override { return ranks_; }

  void send(int process, const Message& header, const void* data, std::size_t bytes) override {
    check_length(bytes);
    std::list<Sending> one = take_free(sizeof header + bytes);
    auto& s = one.front();
    std::memcpy(s.buffer.data(), &header, sizeof header);
    if (bytes) std::memcpy(s.buffer.data() + sizeof header, data, bytes);
    {
      Calling now;
      MPI_Isend(s.buffer.data(), int(s.buffer.size()), MPI_BYTE, process, message_tag, comm_, &s.request);
    }
    give_back(one);
  }

  void send_placed(int process, const void* data, std::size_t bytes) override {
    check_length(bytes);
    std::list<Sending> one = take_free(0);
    {
      Calling now;
      MPI_Isend(data, int(bytes), MPI_BYTE, process, placed_tag, comm_, &one.front().request);
    }
    give_back(one);
  }

  void receive_placed(int process, void* to, std::size_t bytes, std::function<void()> arrived) override {
    check_length(bytes);
    std::list<Receiving> one(1);
    one.front().arrived = std::move(arrived);
    {
      Calling now;
      MPI_Irecv(to, int(bytes), MPI_BYTE, process, placed_tag, comm_, &one.front().request);
    }
    std::lock_guard lock(receiving_mutex_);
    receiving_.splice(receiving_.end(), one);
  }

  bool reaches_devices() const override { return reaches_devices_; }

  int poll(const Deliver& deliver) override {
    std::unique_lock polls(polling_, std::try_to_lock);
    if (!polls) return 0;
    int count = take_placed();
    for (Message header; take(header); count++)
      deliver(header, received_.data() + sizeof header, received_.size() - sizeof header);
    retire();
    return count;
  }

  bool all_sent() override {
    retire();
    std::lock_guard lock(sending_mutex_);
    return sending_.empty() && in_hand_ == 0;
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

  // Buffers of completed sends are kept for later ones: after some iterations nothing is allocated.
  std::list<Sending> take_free(std::size_t bytes) {
    std::unique_lock lock(sending_mutex_);
    if (free_.empty() && !sending_.empty()) {
      lock.unlock();
      retire();
      lock.lock();
    }
    std::list<Sending> one;
    if (free_.empty())
      one.emplace_back();
    else
      one.splice(one.end(), free_, free_.begin());
    lock.unlock();
    one.front().buffer.resize(bytes);
    in_hand_++;
    return one;
  }

  void give_back(std::list<Sending>& under_way, std::list<Sending> ended = {}) {
    std::lock_guard lock(sending_mutex_);
    sending_.splice(sending_.end(), under_way);
    free_.splice(free_.end(), ended);
    in_hand_--;
  }

  // MPI does more in a test than to look: nobody waits for the mutex meanwhile.
  void retire() {
    std::list<Sending> under_way, done;
    {
      std::lock_guard lock(sending_mutex_);
      if (sending_.empty()) return;
      under_way.swap(sending_);
      in_hand_++;
    }
    if (Calling now(std::try_to_lock); now)
      for (auto s = under_way.begin(); s != under_way.end();) {
        auto next = std::next(s);
        if (ended(s->request)) done.splice(done.end(), under_way, s);
        s = next;
      }
    give_back(under_way, std::move(done));
  }

  /// The next message that is there, into received_.
  bool take(Message& header) {
    Calling now(std::try_to_lock);
    if (!now) return false;
    int there = 0, size = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Improbe(MPI_ANY_SOURCE, message_tag, comm_, &there, &message, &status);
    if (!there) return false;
    MPI_Get_count(&status, MPI_BYTE, &size);
    received_.resize(std::size_t(size));
    MPI_Mrecv(received_.data(), size, MPI_BYTE, &message, &status);
    std::memcpy(&header, received_.data(), sizeof header);
    return true;
  }

  int take_placed() {
    std::list<Receiving> arrived;
    {
      std::lock_guard lock(receiving_mutex_);
      if (receiving_.empty()) return 0;
      Calling now(std::try_to_lock);
      if (!now) return 0;
      for (auto r = receiving_.begin(); r != receiving_.end();) {
        auto next = std::next(r);
        if (ended(r->request)) arrived.splice(arrived.end(), receiving_, r);
        r = next;
      }
    }
    for (Receiving& r : arrived) r.arrived();
    return int(arrived.size());
  }

  // After a fault some of what was to come has no place any more.
  void leave() {
    Calling now;
    for (Receiving& r : receiving_) {
      MPI_Cancel(&r.request);
      MPI_Request_free(&r.request);
    }
    depart(comm_, std::move(sending_));
  }

  int process_;
  std::vector<int> ranks_;
  bool reaches_devices_;
  MPI_Comm comm_;
  std::mutex sending_mutex_;
  std::list<Sending> sending_, free_;
  std::atomic<int> in_hand_{0};  // threads that have sends of neither list
  std::mutex receiving_mutex_;
  std::list<Receiving> receiving_;
  std::mutex polling_;  // one thread takes and delivers messages
  std::vector<std::byte> received_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(int process, std::vector<int> ranks, bool reaches_devices, MPI_Comm comm) {
  return std::make_unique<MpiTransport>(process, std::move(ranks), reaches_devices, comm);
}

}  // namespace sordino::mpi
