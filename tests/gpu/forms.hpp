// Commands of every form that a recording knows, in small programs that the host engine runs as well.
#pragma once
#include <algorithm>
#include <vector>

#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace test {
using namespace sordino;

/// Reads two vectors' ghosts, writes two vectors, sums three values. Neighbours are anywhere in storage.
struct Blend {
  Ghost a, c;
  Out a2, c2;
  const i32* left;
  const i32* right;
  SORDINO_HD Sums<3> row(i32 i) {
    double u = 0.5 * a[i] + 0.25 * a[left[i]] + 0.25 * c[right[i]], v = 0.5 * c[i] + 0.5 * a[right[i]];
    a2[i] = u;
    c2[i] = v;
    return {{u, v, u * v}};
  }
};
struct Seed {
  In from;
  Out a, c;
  SORDINO_HD void row(i32 i) {
    a[i] = from[i];
    c[i] = 1 - from[i];
  }
};
struct Damp {
  In a;
  InOut e;
  Get s;
  SORDINO_HD void row(i32 i) { e[i] = 0.5 * e[i] + a[i] * s; }
};
struct Keep {  // a head only
  Get s, old;
  Put kept;
  SORDINO_HD void head() { kept = 0.5 * old + s; }
};
struct Below {
  Get s;
  double limit;
  SORDINO_HD int test() const { return s < limit ? met : proceed; }
  SORDINO_HD double value() const { return s; }
};
/// Finishes and starts the same reduction, as pipelined methods do.
struct Carry {
  Get s;
  InOut e;
  double f = 0;
  SORDINO_HD void head() { f = 1 / (1 + s * s); }
  SORDINO_HD Sums<1> row(i32 i) {
    e[i] = e[i] * f + 0.25;
    return {{e[i]}};
  }
};
/// Several threads a row.
template <int Lanes>
struct ManyRows {
  static constexpr int lanes = Lanes;
  static constexpr const char* name = "Many";
  const i32* begin;
  const i32* column;
  const double* value;
  Ghost x;
  Out y;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(x);
    visit(y);
  }
  SORDINO_HD double sum(i32 i, int lane, int count) const {
    double s = 0;
    for (i32 e = begin[i] + lane; e < begin[i + 1]; e += count) s += value[e] * x[column[e]];
    return s;
  }
  SORDINO_HD void store(i32 i, double v) { y[i] = v; }
  Cost cost() const { return {}; }
};
/// Computes a slice of a replicated vector from all of another.
struct Slice {
  Whole x;
  Out y;
  i32 n;
  SORDINO_HD void row(i32 i) { y[i] = 0.5 * x[i] + 0.25 * x[(i * 7 + 1) % n] + 0.125; }
};
struct Everywhere {
  Whole y;
  Out x;
  SORDINO_HD Sums<1> row(i32 i) {
    x[i] = y[i];
    return {{y[i]}};
  }
};
struct NeverEnabled {
  InOut e;
  SORDINO_HD void row(i32 i) { e[i] = 0; }
};

using FormKernels =
    KernelList<Kernel<Blend>, Kernel<Seed>, Kernel<Damp>, Kernel<Keep, Below>, Kernel<Keep>, Kernel<Carry>,
               Kernel<Applied<ManyRows<4>, 2>>, Kernel<Applied<ManyRows<32>, 2>>, Kernel<Slice>, Kernel<Everywhere>>;

/// Rows of one rank, neighbours on a ring of ranks, and who sends what. `scattered`: single rows here and there, else pieces.
struct Ring {
  Ring(int rank, int ranks, i32 rows, bool scattered) : n(rows) {
    space.n_global = i64(rows) * ranks;
    space.first_row = i64(rows) * rank;
    space.rows = rows;
    space.n_blocks = ranks;
    space.first_block = rank;
    set_tiles(space, {0, rows}, 1);
    auto rows_for = [&](int from, int to) {  // the same on both sides
      std::vector<i32> list;
      if (!scattered) {
        i32 first = (from * 13 + to * 7) % (rows / 2);
        for (i32 k = 0; k < rows / 8; k++) list.push_back(first + k);
      } else {
        for (i32 k = (from + to) % 5; k < rows; k += 7) list.push_back(k);
      }
      return list;
    };
    std::vector<int> neighbours;
    for (int d : {1, ranks - 1})
      if (ranks > 1 && d < ranks) neighbours.push_back((rank + d) % ranks);
    std::sort(neighbours.begin(), neighbours.end());
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
    auto neighbours_of = [&](int r) {
      std::vector<int> v{(r + 1) % ranks, (r + ranks - 1) % ranks};
      std::sort(v.begin(), v.end());
      v.erase(std::unique(v.begin(), v.end()), v.end());
      return v;
    };
    i32 ghost = rows;
    std::vector<char> sent(rows, 0);
    for (int p : neighbours) {
      ExchangePeer e;
      e.rank = p;
      auto send = rows_for(rank, p), recv = rows_for(p, rank);
      e.recv_first = ghost;
      e.recv_count = i32(recv.size());
      ghost += e.recv_count;
      e.send_count = i32(send.size());
      if (scattered)
        e.send_rows = send;
      else
        e.send_first = send[0];
      for (i32 k : send) sent[k] = 1;
      e.remote_first = rows;
      auto theirs = neighbours_of(p);
      for (int q : theirs) {
        if (q == rank) break;
        e.remote_first += i32(rows_for(q, p).size());
        e.remote_index++;
      }
      exchange.peers.push_back(e);
    }
    exchange.ghosts = ghost - rows;
    left.resize(rows), right.resize(rows);
    std::vector<char> needs(rows, 0);
    u32 seed = 12345 + u32(rank);
    auto random = [&](i32 below) { return i32((seed = seed * 1664525u + 1013904223u) >> 8) % below; };
    for (i32 i = 0; i < rows; i++) {
      bool outside = scattered ? i % 3 == 0 : i < rows / 4;
      left[i] = random(rows);
      right[i] = outside && ghost > rows ? rows + random(ghost - rows) : random(rows);
      needs[i] = right[i] >= rows;
    }
    auto ranges = [&](const std::vector<char>& mark, char wanted) {
      std::vector<RowRange> out;
      for (i32 i = 0; i < rows; i++)
        if (mark[i] == wanted) {
          if (out.empty() || out.back().end != i) out.push_back({i, i});
          out.back().end++;
        }
      return out;
    };
    exchange.producer = {ranges(sent, 1), ranges(sent, 0)};
    exchange.consumer = {ranges(needs, 0), ranges(needs, 1)};
  }
  std::vector<double> seed_values() const {
    std::vector<double> v(n);
    for (i32 i = 0; i < n; i++) v[i] = double((i + space.first_row) * 37 % 101) / 64;
    return v;
  }
  i32 n;
  Space space;
  Exchange exchange;
  std::vector<i32> left, right;
};

/// A rank's arrays that are no vectors.
class Arrays {
 public:
  explicit Arrays(Rank& rank) : rank_(rank) {}
  ~Arrays() {
    for (auto [p, bytes] : held_) rank_.engine().release_bytes(rank_, p, bytes);
  }
  template <class T>
  const T* put(const std::vector<T>& host) {
    std::size_t bytes = host.size() * sizeof(T);
    void* p = rank_.engine().allocate_bytes(rank_, bytes);
    rank_.engine().upload(rank_, p, host.data(), bytes);
    held_.push_back({p, bytes});
    return static_cast<const T*>(p);
  }

 private:
  Rank& rank_;
  std::vector<std::pair<void*, std::size_t>> held_;
};

inline void append(Rank& rank, Vec v, i32 n, std::vector<double>& out) {
  std::vector<double> h(n);
  rank.read(v, h.data());
  out.insert(out.end(), h.begin(), h.end());
}

/// Two vectors read with their ghosts and two pushed by one command; rotation; a predicated command; an exit test, which a
/// limit far below zero never meets. It averages, so that numbers stay small, however long it runs.
inline Outcome blend(Rank& rank, std::vector<double>& out, bool scattered, int max, double limit, int every,
                     bool two_queues = false) {
  Ring ring(rank.id(), rank.size(), 1000, scattered);
  Arrays arrays(rank);
  int space = rank.add_space(ring.space);
  auto halo = [&](const char* name) { return rank.vector(name, space, &ring.exchange); };
  Vec a = halo("a"), a2 = halo("a2"), c = halo("c"), c2 = halo("c2"), e = rank.vector("e", space),
      from = rank.vector("from", space);
  Scal s1 = rank.scalar("s1"), s2 = rank.scalar("s2"), s3 = rank.scalar("s3");
  Scal kept = rank.scalar("kept", 1.0), old = rank.scalar("old", 1.0);
  const i32 *left = arrays.put(ring.left), *right = arrays.put(ring.right);
  rank.write(from, ring.seed_values().data());
  Recorded begin = rank.record([&] { rank.run(Seed{from, a, c}, push(a), push(c)); });
  Rotation rotation;
  rotation.vectors = {{a2, a}, {c2, c}};
  rotation.scalars = {{kept, old}};
  Recorded loop = rank.loop(rotation, [&] {
    rank.run(Blend{a, c, a2, c2, left, right}, start(s1, s2, s3), push(a2), push(c2));
    rank.exit_if(Below{Get(finish(s3)), limit});
    rank.run(Keep{Get(finish(s1)), old, kept});
    auto damp = [&] { rank.run(Damp{a2, e, s2}); };
    rank.when(every, [&] { two_queues ? rank.on(1, damp) : damp(); });
  });
  rank.replay(begin);
  Outcome o = rank.replay(loop, max);
  append(rank, e, ring.n, out);
  append(rank, a2, ring.n, out);
  for (Scal s : {s1, s2, s3, kept}) out.push_back(rank.get(s));
  return o;
}

}  // namespace test
