// The Wilson dslash on GPUs: what the host computes, to rounding, for both precisions and link formats, on grids of 1 to 4
// ranks.
#include "hops.hpp"
#include "sordino/api/cuda/engines.hpp"
#include "support.hpp"

using namespace sordino;
using namespace sordino::lattice;

namespace {

using hops::Case;
constexpr Spreading spreadings[] = {Spreading::never, Spreading::always};  // small boxes are spread where nobody says so

const char* said(Spreading s) { return s == Spreading::always ? "spread" : "a thread a site"; }

/// Largest difference relative to the largest number, of fields whose words are doubles or pairs of floats.
template <class T>
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  auto *x = reinterpret_cast<const T*>(a.data()), *y = reinterpret_cast<const T*>(b.data());
  double most = 0, scale = 0;
  for (std::size_t i = 0; i < a.size() * (sizeof(double) / sizeof(T)); i++) {
    if (!(std::abs(double(x[i])) < 1e30)) return INFINITY;  // NaN, too
    most = std::max(most, std::abs(double(x[i]) - double(y[i])));
    scale = std::max(scale, std::abs(double(y[i])));
  }
  return most / scale;
}

void compare(const std::vector<std::vector<double>>& got, const std::vector<std::vector<double>>& expected, bool single) {
  for (std::size_t k = 0; k < got.size(); k++) {
    REQUIRE(got[k].size() == expected[k].size());
    if (single)
      CHECK(difference<float>(got[k], expected[k]) < 5e-6);
    else
      CHECK(difference<double>(got[k], expected[k]) < 1e-14);
  }
}

}  // namespace

namespace {

struct Product {
  std::vector<std::vector<double>> words;  // [rank] of the result
  std::vector<std::vector<double>> sums;   // [rank] of all iterations
};

/// Products to and fro on all sites, as many dot products with each as `dots` says.
Product with_dots(Engine& engine, const Case& c, int dots) {
  Product p{std::vector<std::vector<double>>(std::size_t(engine.size())),
            std::vector<std::vector<double>>(std::size_t(engine.size()))};
  engine.run(
      [&](Rank& s) {
        Box box(c.lattice, c.grid, s.id());
        auto links = std::make_shared<LinkField>(s, box, random_links(c.lattice, 5), c.precision, c.reals);
        Dslash d(s, box, links, 2, c.spreading);
        Vec x = d.field(s, "x"), y = d.field(s, "y"), z = d.field(s, "z");
        s.write(x, d.pack(s, random_source(c.lattice, 6)).data());
        s.write(z, d.pack(s, random_source(c.lattice, 7)).data());
        Scal sum[2][3] = {{s.scalar("yz"), s.scalar("yy"), s.scalar("xz")}, {s.scalar("xz'"), s.scalar("xx"), s.scalar("yz'")}};
        auto hop = [&](Vec from, Vec to, Scal(&into)[3]) {
          StartDots epilogue = start(dot(to, z) >> into[0]);
          if (dots > 1) epilogue = start(dot(z, to) >> into[0], dot(to, to) >> into[1]);
          if (dots > 2) epilogue = start(dot(to, z) >> into[0], dot(to, to) >> into[1], dot(from, z) >> into[2]);
          d.apply(s, {.x = from, .y = to}, 0.125, 0, epilogue);
          s.wait(into[0]);
        };
        auto to_and_fro = s.loop({}, [&] {
          hop(x, y, sum[0]);
          hop(y, x, sum[1]);
        });
        for (int k : {1, 5}) {  // launched by themselves, and where possible in a graph
          s.replay(to_and_fro, k);
          for (auto& of_hop : sum)
            for (int j = 0; j < dots; j++) p.sums[std::size_t(s.id())].push_back(s.get(of_hop[j]));
        }
        auto& w = p.words[std::size_t(s.id())];
        w.resize(std::size_t(s.space(d.space()).rows));
        s.read(x, w.data());
      },
      {});
  return p;
}

}  // namespace

TEST("dslash: products with sums, cut where ranks share a GPU, are those that send ahead, and the host's") {
  test::need_gpu();
  cuda::enable_kernels();
  for (Coords grid : {Coords{1, 1, 1, 2}, Coords{2, 1, 1, 1}, Coords{1, 1, 1, 4}, Coords{1, 2, 2, 1}})
    for (int reals : {18, 12})
      for (int dots : {1, 2, 3})
        for (Spreading spreading : spreadings) {
          NOTE(to_string(grid), ", ", reals, " reals a link, ", dots, " dot products, ", said(spreading));
          Case c{{{8, 4, 4, 8}, true}, grid, Precision::double_precision, reals, spreading};
          int ranks = grid[0] * grid[1] * grid[2] * grid[3];
          auto host = test::host_engine(ranks);
          cuda::Options cut_in_two;
          cut_in_two.sharing = cuda::Sharing::always;
          Product expected = with_dots(*host, c, dots), first;
          for (auto& options : {cut_in_two, test::spinning(), cuda::Options{}}) {
            NOTE(options.sharing == cuda::Sharing::always  ? "cut"
                 : options.sharing == cuda::Sharing::never ? "spinning on one GPU"
                                                           : "on as many GPUs as there are");
            auto gpu = test::cuda_engine(ranks, options);
            Product p = with_dots(*gpu, c, dots);
            compare(p.words, expected.words, false);
            if (first.words.empty()) first = p;
            CHECK(p.words == first.words);  // a site's arithmetic does not depend on who sends
            for (std::size_t r = 0; r < p.sums.size(); r++) {
              NOTE("rank ", r);
              REQUIRE(p.sums[r].size() == std::size_t(4 * dots));
              CHECK(p.sums[r] == p.sums[0]);
              CHECK_NEAR(test::distance(p.sums[r], expected.sums[r]), 0.0, 1e-12);
            }
          }
        }
}

TEST("dslash: GPUs and host agree, in both precisions and link formats, on every kind of grid") {
  test::need_gpu();
  cuda::enable_kernels();
  const Coords grids[] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 1}, {1, 1, 1, 4}, {1, 2, 2, 1}, {2, 1, 1, 2}};
  for (Coords extent : {Coords{4, 4, 4, 8}, Coords{8, 4, 12, 16}})
    for (Coords grid : grids)
      for (Precision precision : {Precision::double_precision, Precision::single_precision})
        for (int reals : {18, 12}) {
          bool single = precision == Precision::single_precision;
          NOTE(to_string(extent), " on ", to_string(grid), single ? ", single, " : ", double, ", reals, " reals a link");
          Case c{{extent, true}, grid, precision, reals, Spreading::automatic};
          int ranks = grid[0] * grid[1] * grid[2] * grid[3];
          auto host = test::host_engine(ranks);
          auto expected = hops::run(*host, c);
          for (cuda::Sharing sharing : {cuda::Sharing::automatic, cuda::Sharing::always}) {
            cuda::Options o;
            o.sharing = sharing;
            auto gpu = test::cuda_engine(ranks, o);
            for (Spreading spreading : spreadings) {
              NOTE(said(spreading));
              c.spreading = spreading;
              compare(hops::run(*gpu, c), expected, single);
            }
          }
        }
}
