// Five hops along a chain of sites that ranks share out, recorded as two commands or as one: for every engine. Sites have
// several words, which are pairs of floats; faces are packed before they travel, or sent by the command that awaits them.
#pragma once
#include <array>

#include "check.hpp"
#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace chain {
using namespace sordino;

struct Pair {
  float a, b;
};

/// Sends twice the first and the last site: word c of face i is f[2 c + i].
template <i32 words>
struct Pack {
  Foreign<const Pair, Access::read> x;
  Foreign<Pair, Access::write> f;
  i32 n;
  SORDINO_HD void row(i32 i) {
    for (i32 c = 0; c < words; c++) {
      Pair v = x[c * n + (i ? n - 1 : 0)];
      f[2 * c + i] = {2 * v.a, v.b};
    }
  }
  Cost cost() const { return {4.0 * words * 8, 2.0 * words}; }
};

/// y = the site's own value, the left neighbour's a and the right neighbour's b; returns the sum of a.
template <i32 words, Access arrival = Access::ghost>
struct Hop {
  Foreign<const Pair, Access::read> x;
  Foreign<const Pair, arrival> f;
  Foreign<Pair, Access::write> y;
  i32 n;
  i32 left, right;  // first ghost word of each side, -1 at the end of the chain
  SORDINO_HD Sums<1> row(i32 i) {
    double sum = 0;
    for (i32 c = 0; c < words; c++) {
      Pair v = x[c * n + i];
      if (i > 0) v.a += 2 * x[c * n + i - 1].a;
      if (i == 0 && left >= 0) v.a += f[left + c].a;
      if (i + 1 < n) v.b += x[c * n + i + 1].b;
      if (i + 1 == n && right >= 0) v.b += f[right + c].b;
      y[c * n + i] = v;
      sum += v.a;
    }
    return {sum};
  }
  Cost cost() const { return {2.0 * words * 8 * n, 0}; }
};

/// Both in one command: the rows of the two faces, which send, and then the sites.
template <i32 words>
struct SendAndHop {
  Sent<Pair> sent;
  Hop<words, Access::arrived> hop;
  template <class V>
  SORDINO_HD void fields(V&& visit) {
    visit(sent);
    each_field(hop, visit);
  }
  SORDINO_HD Sums<1> row(i32 i) {
    if (i >= 2) return hop.row(i - 2);
    for (i32 c = 0; c < words; c++) {
      Pair v = hop.x[c * hop.n + (i ? hop.n - 1 : 0)];
      sent.store(2 * c + i, {2 * v.a, v.b});
    }
    return {};
  }
  Cost cost() const { return hop.cost(); }
};

struct Chain {
  std::vector<Pair> x;  // [site][word]
  double sum = 0;
};

inline i32 first_site(i32 sites, int rank, int ranks) { return sites * rank / ranks; }

/// What one rank does: five hops, and its part of the result. `ahead`: each in one command.
template <i32 words>
void job(Rank& s, i32 sites, bool ahead, Chain& all) {
  i32 first = first_site(sites, s.id(), s.size()), n = first_site(sites, s.id() + 1, s.size()) - first;
  auto space_of = [&](i32 rows, i32 before, i64 total) {
    Space p;
    p.rows = rows, p.first_row = before, p.n_global = total, p.n_blocks = s.size(), p.first_block = s.id();
    set_tiles(p, {0, rows}, 1);  // sums are taken over whole tiles, so groups of any rows need small ones
    return s.add_space(p);
  };
  int site_space = space_of(n, first, sites), row_space = space_of(n + 2, first + 2 * s.id(), sites + 2 * s.size());
  int word_space = space_of(words * n, words * first, words * sites);
  int face_space = space_of(2, 2 * s.id(), 2 * s.size()),
      buffer_space = space_of(2 * words, 2 * words * s.id(), 2 * words * s.size());
  Exchange ring;
  bool left = s.id() > 0, right = s.id() + 1 < s.size();
  i32 own = 2 * words;
  std::vector<i32> face[2];  // no two words of a face lie beside each other
  for (i32 c = 0; c < words; c++)
    for (i32 i : {0, 1}) face[i].push_back(2 * c + i);
  if (left)
    ring.peers.push_back({s.id() - 1, own, words, words, face[0], 0, own + (s.id() - 1 > 0 ? words : 0), s.id() - 1 > 0});
  if (right) ring.peers.push_back({s.id() + 1, own + (left ? words : 0), words, words, face[1], 0, own, 0});
  ring.ghosts = words * (i32(left) + i32(right));
  Vec x = s.vector("x", word_space), y = s.vector("y", word_space);
  Vec f = s.vector("f", buffer_space, &ring), f_new = s.vector("f new", buffer_space, &ring);
  Scal sum = s.scalar("sum");
  Split split{{{1, n - 1}}, {{0, 1}, {n - 1, n}}};
  Split whole{{{3, n + 1}}, {{2, 3}, {n + 1, n + 2}}, {{0, 2}}, 0.1};
  i32 from_left = left ? own : -1, from_right = right ? own + (left ? words : 0) : -1;
  auto loop = s.loop({.vectors = {{x, y}, {f, f_new}}}, [&] {
    if (ahead) {
      s.run_split_over(row_space, SendAndHop<words>{f, {x, f, y, n, from_left, from_right}}, whole, start(sum));
    } else {
      s.run_over(face_space, Pack<words>{x, f, n}, push(f));
      s.run_split_over(site_space, Hop<words>{x, f, y, n, from_left, from_right}, split, start(sum));
    }
    s.wait(sum);
  });
  std::vector<Pair> mine(std::size_t(words * n));
  for (i32 i = 0; i < n; i++)
    for (i32 c = 0; c < words; c++) mine[std::size_t(c * n + i)] = {float(first + i + c), float((first + i) % 5 - c)};
  s.write(x, reinterpret_cast<const double*>(mine.data()));
  s.replay(loop, 5);
  s.read(x, reinterpret_cast<double*>(mine.data()));
  for (i32 i = 0; i < n; i++)
    for (i32 c = 0; c < words; c++) all.x[std::size_t((first + i) * words + c)] = mine[std::size_t(c * n + i)];
  if (s.id() == 0) all.sum = s.get(sum);
}

template <i32 words>
Chain hopped(Engine& engine, i32 sites, bool ahead) {
  Chain all{std::vector<Pair>(std::size_t(sites) * words), 0};
  engine.run([&](Rank& s) { job<words>(s, sites, ahead, all); });
  return all;
}

template <i32 words>
Chain serial(i32 sites) {
  std::vector<std::array<Pair, words>> x(static_cast<std::size_t>(sites));
  for (i32 i = 0; i < sites; i++)
    for (i32 c = 0; c < words; c++) x[std::size_t(i)][std::size_t(c)] = {float(i + c), float(i % 5 - c)};
  double sum = 0;
  for (int k = 0; k < 5; k++) {
    auto y = x;
    sum = 0;
    for (std::size_t i = 0; i < x.size(); i++)
      for (std::size_t c = 0; c < words; c++) {
        if (i > 0) y[i][c].a += 2 * x[i - 1][c].a;
        if (i + 1 < x.size()) y[i][c].b += x[i + 1][c].b;
        sum += y[i][c].a;
      }
    x = y;
  }
  Chain all{{}, sum};
  for (auto& site : x) all.x.insert(all.x.end(), site.begin(), site.end());
  return all;
}

inline void compare(const Chain& a, const Chain& b) {
  REQUIRE(a.x.size() == b.x.size());
  for (std::size_t i = 0; i < a.x.size(); i++) REQUIRE((a.x[i].a == b.x[i].a && a.x[i].b == b.x[i].b));
  CHECK(a.sum == b.sum);  // whole numbers
}

template <i32 words>
using Kernels = KernelList<Kernel<Pack<words>>, Kernel<Hop<words>>, Kernel<SendAndHop<words>>>;

}  // namespace chain
