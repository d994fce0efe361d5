// Host data between ranks of different processes of a host, through the pipes of their hall. Letters of any size: what does
// not fit is sent piece by piece, whenever somebody in either process waits and so calls exchange().
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "sordino/runtime/hall.hpp"

namespace sordino {

class HallMail {
 public:
  explicit HallMail(Hall& hall);

  /// Returns at once. Letters between two ranks arrive in the order in which they were sent. Thread-safe.
  void send(int from, int to, i64 tag, std::vector<std::byte> data);
  /// Sends what is waiting and fits, and hands over what has come. True if anything moved. Thread-safe; false at once if
  /// another thread is at it.
  using Deliver = std::function<void(int from, int to, i64 tag, std::vector<std::byte> data)>;
  bool exchange(const Deliver& deliver);
  /// Nothing waits to be sent: all lies in the receivers' pipes at least.
  bool all_sent();

 private:
  struct Header {
    i32 from = 0, to = 0;
    i64 tag = 0;
    u64 bytes = 0;
  };
  struct Letter {
    Header header;
    std::vector<std::byte> data;
    std::size_t done = 0;  // bytes of both
  };
  struct Peer {
    Pipe *out = nullptr, *in = nullptr;
    std::deque<Letter> outgoing;
    Letter incoming;
  };
  std::size_t write(Pipe& pipe, const std::byte* bytes, std::size_t count) const;
  std::size_t read(Pipe& pipe, std::byte* bytes, std::size_t count) const;
  bool send_some(Peer& peer);
  bool take_some(Peer& peer, const Deliver& deliver);
  /// The next bytes of a letter, its header first, move by `transfer` until it moves none.
  template <class Transfer>
  static std::size_t move(Letter& letter, const Transfer& transfer);

  Hall& hall_;
  std::mutex mutex_;
  std::vector<Peer> peers_;  // [process]
};

}  // namespace sordino
