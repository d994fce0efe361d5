#include "sordino/runtime/hall_mail.hpp"

#include <algorithm>
#include <cstring>

namespace sordino {

HallMail::HallMail(Hall& hall) : hall_(hall), peers_(std::size_t(hall.processes())) {
  for (int p = 0; p < hall.processes(); p++)
    if (p != hall.process()) {
      peers_[std::size_t(p)].out = &hall.pipe(hall.process(), p);
      peers_[std::size_t(p)].in = &hall.pipe(p, hall.process());
    }
}

void HallMail::send(int from, int to, i64 tag, std::vector<std::byte> data) {
  std::lock_guard lock(mutex_);
  Peer& peer = peers_[std::size_t(hall_.process_of(to))];
  u64 bytes = data.size();
  peer.outgoing.push_back({{from, to, tag, bytes}, std::move(data)});
  send_some(peer);
}

bool HallMail::exchange(const Deliver& deliver) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  bool moved = false;
  for (Peer& peer : peers_)
    if (peer.out) {
      moved |= send_some(peer);
      moved |= take_some(peer, deliver);
    }
  return moved;
}

bool HallMail::all_sent() {
  std::lock_guard lock(mutex_);
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& p) { return p.outgoing.empty(); });
}

template <class Transfer>
std::size_t HallMail::move(Letter& letter, const Transfer& transfer) {
  std::size_t moved = 0, n = 0;
  auto* header = reinterpret_cast<std::byte*>(&letter.header);
  do {
    bool ahead = letter.done < sizeof(Header);
    std::byte* at = ahead ? header + letter.done : letter.data.data() + (letter.done - sizeof(Header));
    n = transfer(at, (ahead ? sizeof(Header) : sizeof(Header) + letter.data.size()) - letter.done);
    letter.done += n;
    moved += n;
    if (ahead && letter.done == sizeof(Header)) letter.data.resize(letter.header.bytes);
  } while (n > 0);
  return moved;
}

bool HallMail::send_some(Peer& peer) {
  bool moved = false;
  while (!peer.outgoing.empty()) {
    Letter& letter = peer.outgoing.front();
    moved |= move(letter, [&](const std::byte* at, std::size_t count) { return write(*peer.out, at, count); }) > 0;
    if (letter.done < sizeof(Header) + letter.data.size()) break;
    peer.outgoing.pop_front();
  }
  return moved;
}

bool HallMail::take_some(Peer& peer, const Deliver& deliver) {
  bool moved = false;
  for (;;) {
    Letter& letter = peer.incoming;
    std::size_t n = move(letter, [&](std::byte* at, std::size_t count) { return read(*peer.in, at, count); });
    moved |= n > 0;
    if (letter.done < sizeof(Header) || letter.done < sizeof(Header) + letter.data.size()) return moved;
    deliver(letter.header.from, letter.header.to, letter.header.tag, std::move(letter.data));
    letter = {};
  }
}

// The counts only grow; a place in the ring is a count modulo its size.
std::size_t HallMail::write(Pipe& pipe, const std::byte* bytes, std::size_t count) const {
  u64 written = pipe.written.load(std::memory_order_relaxed), taken = pipe.taken.load(std::memory_order_acquire);
  std::size_t size = hall_.pipe_bytes(), n = std::min(count, size - std::size_t(written - taken));
  std::size_t at = std::size_t(written) & (size - 1), before_end = std::min(n, size - at);
  if (n == 0) return 0;
  std::memcpy(pipe.bytes() + at, bytes, before_end);
  std::memcpy(pipe.bytes(), bytes + before_end, n - before_end);
  pipe.written.store(written + n, std::memory_order_release);
  return n;
}

std::size_t HallMail::read(Pipe& pipe, std::byte* bytes, std::size_t count) const {
  u64 written = pipe.written.load(std::memory_order_acquire), taken = pipe.taken.load(std::memory_order_relaxed);
  std::size_t size = hall_.pipe_bytes(), n = std::min(count, std::size_t(written - taken));
  std::size_t at = std::size_t(taken) & (size - 1), before_end = std::min(n, size - at);
  if (n == 0) return 0;
  std::memcpy(bytes, pipe.bytes() + at, before_end);
  std::memcpy(bytes + before_end, pipe.bytes(), n - before_end);
  pipe.taken.store(taken + n, std::memory_order_release);
  return n;
}

}  // namespace sordino
