#include "sordino/runtime/hall.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "sordino/runtime/hall_segment.hpp"

namespace sordino {
namespace {

static_assert(std::atomic<u32>::is_always_lock_free && std::atomic<u64>::is_always_lock_free, "locks are not shared");

constexpr std::size_t all_pipes = std::size_t(16) << 20;  // bytes, about

std::size_t up_to(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// As large as fits, so that long letters go in few pieces.
std::size_t bytes_of_pipe(std::size_t processes) {
  std::size_t bytes = std::size_t(1) << 20;
  while (bytes * processes * processes > all_pipes && bytes > 16 * hall_page) bytes /= 2;
  return bytes;
}

// With memory behind all of it: what runs out later ends the process without a word. Returns an error of errno.h, or 0.
int reserve(int file, std::size_t bytes) {
  if (ftruncate(file, off_t(bytes)) != 0) return errno;
#ifdef __linux__
  return posix_fallocate(file, 0, off_t(bytes));
#else
  return 0;
#endif
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Errc::unsupported,
              "the processes of this host cannot share memory: " + what + " failed: " + std::strerror(errno));
}

std::string listed(int first, int last) {
  if (first == last) return "rank " + std::to_string(first) + " is";
  return "ranks " + std::to_string(first) + " to " + std::to_string(last) + " are";
}

}  // namespace

// --- making, entering and leaving --------------------------------------------------------------------------------------------

Hall::Hall(const Guests& guests, int process) : first_{0}, host_of_(guests.hosts), process_(process) {
  if (int(guests.ranks.size()) > most_processes)
    throw Error(Errc::unsupported, "at most " + std::to_string(most_processes) + " processes work together");
  for (int n : guests.ranks) first_.push_back(first_.back() + n);
  if (ranks() > Pulse::most_ranks)
    throw Error(Errc::unsupported, "at most " + std::to_string(Pulse::most_ranks) + " ranks work together");
  host_of_.resize(guests.ranks.size(), 0);
  for (int p = 0; p < processes(); p++) {
    hosts_ = std::max(hosts_, host_of_[p] + 1);
    if (host_of_[p] != host()) continue;
    near_processes_++;
    near_ranks_ += guests.ranks[p];
  }
  std::size_t P = guests.ranks.size();
  pipe_bytes_ = P > 1 ? bytes_of_pipe(P) : 0;
  seats_at_ = up_to(sizeof(Segment), hall_page);
  pipes_at_ = up_to(seats_at_ + std::size_t(ranks()) * sizeof(Seat), hall_page);
  bytes_ = pipes_at_ + P * P * (P > 1 ? up_to(sizeof(Pipe) + pipe_bytes_, hall_page) : 0);
}

Hall::Hall(int ranks) : Hall(Guests{{ranks}}, 0) {
  map(-1);
  sit_down();
}

std::unique_ptr<Hall> Hall::make(const Guests& guests, int process) {
  static std::atomic<u32> made{0};
  std::unique_ptr<Hall> hall(new Hall(guests, process));
  int file = -1;
  do {
    hall->name_ = "/sordino." + std::to_string(getpid()) + "." + std::to_string(made++);
    file = shm_open(hall->name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  } while (file < 0 && errno == EEXIST);
  if (file < 0) refuse("shm_open");
  hall->named_ = true;
  if (int error = reserve(file, hall->bytes_); error == ENOSPC || error == EFBIG || error == ENOMEM) {
    ::close(file);
    throw Error(Errc::unsupported, "the processes of this host need " + std::to_string(hall->bytes_ >> 20) +
                                       " MiB of shared memory, and /dev/shm has no room for them");
  }
  hall->map(file);  // closes it
  hall->sit_down();
  return hall;
}

std::unique_ptr<Hall> Hall::enter(const std::string& name, const Guests& guests, int process) {
  std::unique_ptr<Hall> hall(new Hall(guests, process));
  hall->name_ = name;
  int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) refuse("shm_open of " + name);
  hall->map(file);
  hall->sit_down();
  return hall;
}

void Hall::map(int file) {
  int flags = file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, file, 0);
  if (file >= 0) ::close(file);
  if (p == MAP_FAILED) refuse("mmap");
  memory_ = static_cast<char*>(p);
  segment_ = std::launder(reinterpret_cast<Segment*>(memory_));
}

void Hall::sit_down() { segment_->members[process_].id = this_process(); }

Hall::~Hall() {
  remove_name();
  if (!memory_) return;
  leave();
  munmap(memory_, bytes_);
}

void Hall::remove_name() {
  if (named_) shm_unlink(name_.c_str());
  named_ = false;
}

int Hall::process_of(int rank) const { return int(std::upper_bound(first_.begin(), first_.end(), rank) - first_.begin()) - 1; }

int Hall::leader(int host) const { return int(std::find(host_of_.begin(), host_of_.end(), host) - host_of_.begin()); }

Hall::Seat& Hall::seat(int rank) const {
  return *std::launder(reinterpret_cast<Seat*>(memory_ + seats_at_ + std::size_t(rank) * sizeof(Seat)));
}

Pipe& Hall::pipe(int from, int to) {
  std::size_t nth = std::size_t(from) * std::size_t(processes()) + std::size_t(to);
  return *std::launder(reinterpret_cast<Pipe*>(memory_ + pipes_at_ + nth * up_to(sizeof(Pipe) + pipe_bytes_, hall_page)));
}

// --- signs of life, barriers -------------------------------------------------------------------------------------------------

Pulse& Hall::pulse() { return segment_->pulse; }

u64 Hall::heartbeats() const {
  u64 sum = 0;
  for (int i = 0; i < ranks(); i++) {
    auto& b = segment_->pulse.beats[i];
    for (u64* count : {&b.host, &b.device}) sum += std::atomic_ref(*count).load(std::memory_order_relaxed);
  }
  return sum;
}

void Hall::set_waiting(int rank, bool waiting) { seat(rank).waiting.store(waiting, std::memory_order_relaxed); }
bool Hall::is_waiting(int rank) const { return seat(rank).waiting.load(std::memory_order_relaxed) != 0; }

Gate& Hall::gate_of_ranks() { return segment_->ranks; }
Gate& Hall::gate_of_processes() { return segment_->processes; }

void Hall::meet(double seconds) {
  Gate& gate = segment_->processes;
  u32 round = gate.enter(u32(near_processes_ + bridged()));
  i64 begin = milliseconds_now();
  while (!gate.is_over(round) && !raised()) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    int lost = find_lost();
    if (gate.is_over(round)) break;  // who has left now was here
    if (lost >= 0) raise({Errc::peer_failed, obituary(lost), {.rank = first_rank(lost)}});
    if (seconds > 0 && double(milliseconds_now() - begin) > 1000 * seconds)
      raise({Errc::peer_failed, "process " + std::to_string(process_) + " waited " + std::to_string(int(seconds)) +
                                    " s for the other processes to build the same engine"});
  }
}

// --- processes ---------------------------------------------------------------------------------------------------------------

bool Hall::has_died(int process) const {
  return process != process_ && host_of_[process] == host() && has_ended(segment_->members[process].id);
}

bool Hall::is_gone(int process) const {
  return segment_->members[process].left.load(std::memory_order_acquire) != 0 || has_died(process);
}

int Hall::find_lost() {
  if (processes() == 1) return -1;
  i64 now = milliseconds_now(), before = looked_at_.load(std::memory_order_relaxed);
  if (now == before || !looked_at_.compare_exchange_strong(before, now)) return -1;
  for (int p = 0; p < processes(); p++)
    if (p != process_ && host_of_[p] == host() && is_gone(p)) return p;
  return -1;
}

std::string Hall::obituary(int process) const {
  const Member& m = segment_->members[process];
  std::string who = listed(first_rank(process), first_[process + 1] - 1) + " lost: process " + std::to_string(process) +
                    " of " + std::to_string(processes()) + ", with the number " + std::to_string(m.id.number);
  return who + (m.left.load() ? ", has ended its engine or team" : ", has died");
}

void Hall::set_busy(bool busy) {
  Member& m = segment_->members[process_];
  m.busy.store(busy, std::memory_order_release);
  if (!busy) m.runs.fetch_add(1, std::memory_order_acq_rel);
}

bool Hall::neighbours_have_ended() const {
  u32 mine = segment_->members[process_].runs.load(std::memory_order_relaxed);
  for (int p = 0; p < processes(); p++) {
    if (p == process_ || host_of_[p] != host() || is_gone(p)) continue;
    if (i32(segment_->members[p].runs.load(std::memory_order_acquire) - mine) < 0) return false;
  }
  return true;
}

void Hall::close() { segment_->members[process_].closed.store(1, std::memory_order_release); }
void Hall::leave() { segment_->members[process_].left.store(1, std::memory_order_release); }

bool Hall::all_closed() const {
  for (int p = 0; p < processes(); p++)
    if (p != process_ && host_of_[p] == host() && !segment_->members[p].closed.load(std::memory_order_acquire) && !is_gone(p))
      return false;
  return true;
}

bool Hall::others_busy() const {
  for (int p = 0; p < processes(); p++)
    if (p != process_ && segment_->members[p].busy.load(std::memory_order_acquire) && !is_gone(p)) return true;
  return false;
}

// --- directory ---------------------------------------------------------------------------------------------------------------

void Hall::set_device(int rank, const DeviceIdentity& device) { seat(rank).device = device; }
DeviceIdentity Hall::device(int rank) const { return seat(rank).device; }

void Hall::invite(const Invitation& invitation) { segment_->invitation = invitation; }
Invitation Hall::invitation() const { return segment_->invitation; }

void Hall::publish(int rank, int block, const BlockHandle& handle) {
  if (block >= most_blocks)
    throw Error(Errc::unsupported, "a rank shares at most " + std::to_string(most_blocks) + " blocks of memory with processes");
  Seat& s = seat(rank);
  s.blocks[block] = handle;
  s.published[block].store(1, std::memory_order_release);
}

BlockHandle Hall::block(int rank, int block) const {
  const Seat& s = seat(rank);
  if (block < 0 || block >= most_blocks || !s.published[block].load(std::memory_order_acquire))
    throw Error(Errc::peer_failed, "rank " + std::to_string(rank) + " has not shared its memory");
  return s.blocks[block];
}

void Hall::refuse_mapping() { segment_->unmappable.store(1, std::memory_order_release); }
bool Hall::maps() const { return segment_->unmappable.load(std::memory_order_acquire) == 0; }

void Hall::publish(int rank, Published what, int index, const BlockPlace& place) {
  Seat::Place& p = seat(rank).places[int(what)][index];
  p.place = place;
  p.published.store(1, std::memory_order_release);
}

std::optional<BlockPlace> Hall::find_place(int rank, Published what, int index) const {
  const Seat::Place& p = seat(rank).places[int(what)][index];
  if (!p.published.load(std::memory_order_acquire)) return {};
  return p.place;
}

BlockPlace Hall::place(int rank, Published what, int index) const {
  auto place = find_place(rank, what, index);
  if (!place)
    throw Error(Errc::peer_failed, "rank " + std::to_string(rank) + " has no " +
                                       (what == Published::vector ? "exchanged vector " : "reduction ") +
                                       std::to_string(index) + ": all ranks make the same names in the same order");
  return *place;
}

}  // namespace sordino
