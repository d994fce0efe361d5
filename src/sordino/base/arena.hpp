// Memory that is taken in few pieces and given out in many arrays, which go all at once: of a GPU taking and freeing a piece
// may last longer than filling it, and whoever frees one waits for all that the GPU does.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

class Arena {
 public:
  static constexpr i64 alignment = 512;          // of arrays, in pieces that have it
  using Take = std::function<char*(i64 bytes)>;  // whose pieces are somebody else's to free; null: there are not so many bytes

  /// Pieces are multiples of `unit`. More is taken with them for arrays that may follow, so that in all `most_spare` bytes are
  /// not given yet, but no more than an eighth of what has been, and only where they are to be had. With SORDINO_ARRAYS_APART
  /// in the environment each array is a piece of its own, so that tools that watch accesses see it overrun.
  explicit Arena(Take take, i64 unit = alignment, i64 most_spare = 0)
      : take_(std::move(take)), unit_(unit), most_spare_(most_spare) {}
  Arena(const Arena&) = delete;

  static i64 padded(i64 bytes) { return multiple(std::max<i64>(bytes, 1), alignment); }
  /// Arrays that follow want so many bytes in all, each padded(): the next piece has room for them, if they are to be had.
  void expect(i64 bytes) { expected_ = bytes; }
  /// Not written yet. Null: there are not so many bytes.
  char* give(i64 bytes) {
    if (apart_) return give_apart(std::max<i64>(bytes, 1));
    bytes = padded(bytes);
    auto piece = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.bytes - p.used >= bytes; });
    if (piece == pieces_.end()) {
      if (!add_for(bytes)) return nullptr;
      piece = pieces_.end() - 1;
    }
    given_ += bytes;
    return piece->memory + std::exchange(piece->used, piece->used + bytes);
  }

  i64 pieces() const { return i64(pieces_.size()); }
  i64 given() const { return given_; }  // in bytes
  i64 taken() const {
    i64 sum = 0;
    for (const Piece& piece : pieces_) sum += piece.bytes;
    return sum;
  }

 private:
  struct Piece {
    char* memory;
    i64 bytes, used;
  };
  static i64 multiple(i64 bytes, i64 of) { return (bytes + of - 1) / of * of; }

  char* give_apart(i64 bytes) {
    char* const memory = take_(bytes);
    if (memory) pieces_.push_back({memory, bytes, bytes}), given_ += bytes;
    return memory;
  }

  /// In the end for nothing that may follow.
  bool add_for(i64 bytes) {
    const i64 all = std::max(bytes, std::exchange(expected_, 0));
    const i64 spare = std::max<i64>(std::min(most_spare_, given_ / 8) - (taken() - given_), 0);
    for (i64 wanted : {multiple(all + spare, unit_), multiple(all, unit_), multiple(bytes, unit_), bytes})
      if (char* const memory = take_(wanted)) {
        pieces_.push_back({memory, wanted, 0});
        return true;
      }
    return false;
  }

  Take take_;
  i64 unit_, most_spare_, expected_ = 0, given_ = 0;
  bool apart_ = std::getenv("SORDINO_ARRAYS_APART") != nullptr;
  std::vector<Piece> pieces_;
};

}  // namespace sordino
