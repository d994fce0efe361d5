// How warps substitute with incomplete factors, one pass for each way: what every thread does, on a GPU and, in tests, on
// threads of a host that stand for warps.
//
// A warp takes slices by tickets, in the order of the levels, so whatever it waits for has a smaller ticket, which somebody
// else holds or has done with: no order in which warps begin, and no number of them, can hang. A number of x is its own flag: a
// place that nobody has written holds `not_there`, a NaN that is never stored as a number. So nothing else orders memory.
//
// Nothing is counted from one application to the next, by hosts or on the device, so a replay of a graph may be the first
// one or the millionth. The two passes of an application follow each other, and clean up for each other: each leaves the other
// one's places without numbers, and its tickets at 0.
#pragma once
#include <cstring>

#include "sordino/trsv/level_slices.hpp"

namespace sordino::trsv {

inline constexpr u64 not_there = ~u64(0);

/// What is stored of a number that was computed: its bits, and of every NaN those of one that means no empty place.
SORDINO_HD inline u64 word_of(double number) {
  if (number != number) return u64(0x7ff8) << 48;
  u64 word;
  memcpy(&word, &number, sizeof word);
  return word;
}
SORDINO_HD inline double number_of(u64 word) {
  double number;
  memcpy(&number, &word, sizeof number);
  return number;
}

/// One way's tables. At first all of x is `not_there`, and no ticket is taken.
struct WayTables {
  const LevelSlice* slices = nullptr;  // [count] in the order of the levels
  const LevelRow* rows = nullptr;      // [rows]
  const i32* columns = nullptr;        // [slots] places
  const double* values = nullptr;      // [slots]
  const double* pivots = nullptr;      // [rows] reciprocals, in the order of the slices; null: all are 1
  u64* x = nullptr;                    // [rows] by places
  u32* tickets = nullptr;              // slices taken so far, and more by warps that found none
  i32 count = 0;
};

/// result = T^-1 b with the triangle T of `own`, by rows of the matrix; both may be the same vector.
struct WayPass {
  WayTables own = {};
  u64* others_x = nullptr;  // of the other way, which has as many rows: what is left there is taken away
  u32* others_tickets = nullptr;
  const double* b = nullptr;
  double* result = nullptr;
};

/// What a lane knows of its row while it adds up.
template <int ahead>
struct RowSum {
  LevelRow row{};
  double pivot = 1, sum = 0;  // b less what has been subtracted
  i64 begin = 0;              // the first entry's slot; others lie `stride` apart
  i32 stride = 1, places = 0, first = 0, have = 0;
  i32 column[ahead]{};  // entries first, ..., first + ahead - 1 are looked at; `have` of them have been subtracted
  double value[ahead]{};
  u64 needed[ahead]{};
  bool done = true;
};

/// `Warp` has a T for each lane as Each<T>, with each(f), whether all(f), and what f gives of a lane, from(lane, f); take() and
/// known(), together the next ticket of a counter; first(f), which one lane does; poll() and tell() of a word; and a wait,
/// begin_wait() and go_on(polls), which is false where it is lost.
template <class Warp>
class WayWalk {
 public:
  SORDINO_HD WayWalk(const WayPass& pass, Warp& warp) : s_(pass), warp_(warp) {}

  /// All lanes: slices, until there are none left. The next ticket is taken while a slice is computed. False: a wait was lost.
  SORDINO_HD bool run() {
    for (u32 ticket = warp_.known(warp_.take(s_.own.tickets)); ticket < u32(s_.own.count);) {
      const u32 next = warp_.take(s_.own.tickets);
      if (ticket == 0) warp_.first([&] { *s_.others_tickets = 0; });
      if (!compute(s_.own.slices[ticket])) return false;
      ticket = warp_.known(next);
    }
    return true;
  }

 private:
  /// Entries that a lane asks for at once: more take longer to look through, and fewer to come by, where rows have many.
  static constexpr int few = 4, many = 16;

  SORDINO_HD bool compute(const LevelSlice& slice) {
    warp_.begin_wait();
    if (slice.rows == 0) return compute_long(slice);
    return slice.width <= few ? compute_rows<few>(slice) : compute_rows<many>(slice);
  }

  /// Rows of a slice may need each other: no lane waits for another, each subtracts what is there.
  template <int ahead>
  SORDINO_HD bool compute_rows(const LevelSlice& slice) {
    typename Warp::template Each<RowSum<ahead>> lanes;
    lanes.each([&](RowSum<ahead>& l, i32 lane) {
      if (lane < i32(slice.rows)) begin(l, slice, lane);
    });
    for (u32 polls = 1;; polls++) {
      if (lanes.all([&](RowSum<ahead>& l) { return l.done || advance(l); })) return true;
      if (!warp_.go_on(polls)) return false;
    }
  }

  template <int ahead>
  SORDINO_HD void begin(RowSum<ahead>& l, const LevelSlice& slice, i32 lane) {
    const i32 own = slice.first_row + lane;
    l.begin = slice.entries + lane;
    l.stride = i32(slice.rows);
    l.places = i32(slice.width);  // are loaded without waiting for the row's count
    l.done = false;
    look(l);
    l.row = s_.own.rows[own];
    if (s_.own.pivots) l.pivot = s_.own.pivots[own];
    l.sum = s_.b[l.row.row];
  }

  template <int ahead>
  SORDINO_HD void look(RowSum<ahead>& l) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int u = 0; u < ahead; u++) {
      l.needed[u] = not_there;
      if (l.first + u >= l.places) continue;
      const i64 slot = l.begin + i64(l.first + u) * l.stride;
      l.column[u] = s_.own.columns[slot];
      l.value[u] = s_.own.values[slot];
    }
  }

  /// Whether the row is done.
  template <int ahead>
  SORDINO_HD bool advance(RowSum<ahead>& l) {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int u = 0; u < ahead; u++)
      if (u >= l.have && l.first + u < l.row.count && l.needed[u] == not_there)
        l.needed[u] = warp_.poll(s_.own.x + l.column[u]);
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int u = 0; u < ahead; u++)
      if (u == l.have && l.first + u < l.row.count && l.needed[u] != not_there) {
        l.sum = l.sum - l.value[u] * number_of(l.needed[u]);
        l.have++;
      }
    if (l.first + l.have == l.row.count) {
      finish(l.row, l.sum * l.pivot);
      l.done = true;
    } else if (l.have == ahead) {
      l.first += ahead, l.have = 0;
      look(l);
    }
    return l.done;
  }

  /// An entry of a long row.
  struct Product {
    i32 column = 0;
    double value = 0;
    u64 needed = not_there;
    bool exists = false;
  };

  /// Lanes share the row's loads, and wait for each other; products are subtracted in the row's order.
  SORDINO_HD bool compute_long(const LevelSlice& slice) {
    const LevelRow row = s_.own.rows[slice.first_row];
    double sum = s_.b[row.row];
    for (i32 first = 0; first < row.count; first += sums_of_long_row) {
      typename Warp::template Each<Product> lanes;
      lanes.each([&](Product& p, i32 lane) {
        p.exists = first + lane < row.count;
        if (!p.exists) return;
        p.column = s_.own.columns[slice.entries + first + lane];
        p.value = s_.own.values[slice.entries + first + lane];
      });
      auto come = [&](Product& p) {
        if (p.exists && p.needed == not_there) p.needed = warp_.poll(s_.own.x + p.column);
        return !p.exists || p.needed != not_there;
      };
      for (u32 polls = 1; !lanes.all(come); polls++)
        if (!warp_.go_on(polls)) return false;
      const i32 here = row.count - first < sums_of_long_row ? row.count - first : sums_of_long_row;
      for (i32 k = 0; k < here; k++) sum = sum - lanes.from(k, [](const Product& p) { return p.value * number_of(p.needed); });
    }
    const double pivot = s_.own.pivots ? s_.own.pivots[slice.first_row] : 1;
    warp_.first([&] { finish(row, sum * pivot); });
    return true;
  }

  SORDINO_HD void finish(const LevelRow& row, double x) {
    warp_.tell(s_.own.x + row.place, word_of(x));
    s_.result[row.row] = x;
    s_.others_x[row.place] = not_there;
  }

  const WayPass& s_;
  Warp& warp_;
};

}  // namespace sordino::trsv
