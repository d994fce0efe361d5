// Halves are the nearest numbers of 11 bits, and words of two floats compute as two floats.
#include "sordino/base/singles.hpp"

#include <cmath>

#include "check.hpp"
#include "unit/fresh.hpp"

using namespace sordino;

TEST("halves: each but infinities is itself again when it has been widened, and what lies between goes to the nearer one") {
  for (u32 bits = 0; bits < 0x8000; bits++) {
    const Half h{std::uint16_t(bits)}, minus{std::uint16_t(bits | 0x8000)};
    if ((bits >> 10) == 31) continue;  // infinities and NaN
    const int exponent = bits >> 10 ? int(bits >> 10) - 15 : -14;
    const double value = std::ldexp((bits >> 10 ? 1024 : 0) + int(bits & 1023), exponent - 10);
    CHECK(double(widened(h)) == value);
    CHECK(double(widened(minus)) == -value);
    CHECK(narrowed<Half>(value).bits == h.bits);
    CHECK(narrowed<Half>(-value).bits == minus.bits);
    if (value == largest_half) continue;
    const Half next{std::uint16_t(bits + 1)};
    const double middle = (value + double(widened(next))) / 2, step = (double(widened(next)) - value) / 8;
    CHECK(narrowed<Half>(middle).bits == (bits % 2 ? next.bits : h.bits));
    CHECK(narrowed<Half>(middle - step).bits == h.bits);
    CHECK(narrowed<Half>(middle + step).bits == next.bits);
  }
  CHECK(double(widened(narrowed<Half>(1e30))) == largest_half);
  CHECK(double(widened(narrowed<Half>(-70000))) == -largest_half);
  CHECK(narrowed<Half>(1e-30).bits == 0);
}

TEST("words of two floats: sums, differences and products of each, and a word of rows ends with 0") {
  NOTE(fresh::said());
  fresh::Random random(881);
  for (int turn = 0; turn < 100; turn++) {
    const float a = float(random.real(-3, 3)), b = float(random.real(-3, 3)), c = float(random.real(-3, 3)),
                d = float(random.real(-3, 3));
    const double factor = random.real(-3, 3);
    const Singles x{{a, b}}, y{{c, d}}, sum = x + y, difference = x - y, product = x * y, times = factor * x;
    CHECK(sum.at[0] == a + c);
    CHECK(sum.at[1] == b + d);
    CHECK(difference.at[0] == a - c);
    CHECK(difference.at[1] == b - d);
    CHECK(product.at[0] == a * c);
    CHECK(product.at[1] == b * d);
    CHECK(times.at[0] == float(factor) * a);
    CHECK(times.at[1] == float(factor) * b);
  }
  const auto row = [](i32 i) { return 10 + i; };
  CHECK(word_of<double>(2, 3, row) == 12);
  CHECK(word_of<Singles>(0, 3, row).at[1] == 11);
  CHECK(word_of<Singles>(1, 3, row).at[0] == 12);
  CHECK(word_of<Singles>(1, 3, row).at[1] == 0);
}
