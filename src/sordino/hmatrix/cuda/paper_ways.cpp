#include "sordino/hmatrix/cuda/paper_ways.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <sstream>

#include "sordino/base/error.hpp"
#include "sordino/hmatrix/cuda/paper_devices.hpp"
#include "sordino/hmatrix/host_product.hpp"
#include "sordino/runtime/cuda/devices.hpp"

namespace sordino::hmatrix {
namespace {

using Made = std::function<std::unique_ptr<MeasuredProduct>(PaperFigure&)>;

/// All ways of one matrix; what they share is made once.
class Ways {
 public:
  Ways(const HMatrix& matrix, const PaperPlan& plan) : matrix_(matrix), plan_(plan) {
    const i64 n = matrix.size();
    for (i64 i = 0; i < n; i++) x_.push_back(1 + std::fmod(double(i) * 0.6180339887498949, 1.0));
    exact_.resize(x_.size());
    HostProduct(matrix).multiply(x_.data(), exact_.data());
  }

  std::vector<PaperFigure> measure() {
    const DeviceValues values(matrix_, GemvBatches(matrix_, {GemvOrder::stored, 1}));
    for (GemvOrder order : {GemvOrder::stored, GemvOrder::by_rows, GemvOrder::by_groups})
      for (i64 batch : {5000, 20000})
        for (int streams : {1, 2, 3}) measure_variable(values, Subgrid::of_most_rows, order, batch, streams);
    for (int streams : {1, 2, 3}) measure_variable(values, Subgrid::of_most_rows, GemvOrder::by_groups, 0, streams);
    for (GemvOrder order : {GemvOrder::stored, GemvOrder::by_groups})
      measure_variable(values, Subgrid::one_block, order, 20000, 1);
    for (int streams : {1, 2, 3}) measure_variable(values, Subgrid::one_block, GemvOrder::by_groups, 0, streams);
    measure_fixed({GemvOrder::by_groups, 5000, true});
    measure_cublas(values);
    if (plan_.gpus > 1)
      for (const GemvOptions& options : {GemvOptions{GemvOrder::stored, 20000}, GemvOptions{GemvOrder::by_groups, 5000},
                                         GemvOptions{GemvOrder::by_groups, 20000}, GemvOptions{GemvOrder::by_groups, 0}})
        for (int streams : {1, 2, 3}) measure_devices(options, streams);
    return std::move(figures_);
  }

 private:
  void measure_variable(const DeviceValues& values, Subgrid subgrid, GemvOrder order, i64 batch, int streams) {
    const char* way = subgrid == Subgrid::one_block ? "variable batch, one block each" : "variable batch";
    measure({.way = way, .order = order, .batch = batch, .streams = streams}, [&](PaperFigure& figure) {
      figure.bytes = values.bytes();
      return batch_product(matrix_, GemvBatches(matrix_, {order, batch}), values, false, subgrid, streams);
    });
  }

  void measure_fixed(const GemvOptions& options) {
    std::unique_ptr<DeviceValues> values;
    measure({.way = "fixed batch", .order = options.order, .batch = options.count}, [&](PaperFigure& figure) {
      GemvBatches plan(matrix_, options);
      values = std::make_unique<DeviceValues>(matrix_, plan);
      figure.bytes = values->bytes();
      return batch_product(matrix_, std::move(plan), *values, true, Subgrid::of_most_rows, 1);
    });
  }

  /// A thread makes the calls, whatever the streams: where those of a product take it more than ten seconds, five streams,
  /// as in Fig. 9, are beside one, and those between are left out.
  void measure_cublas(const DeviceValues& values) {
    constexpr double patience = 10;
    std::unique_ptr<Cublas> library;
    for (int streams : {1, 2, 3, 5}) {
      if (streams > 1 && streams < 5 && figures_.back().seconds > patience) continue;
      measure({.way = "cublas", .batch = 1, .streams = streams}, [&](PaperFigure& figure) {
        if (!library) library = std::make_unique<Cublas>(plan_.cublas);
        figure.bytes = values.bytes();
        return cublas_product(matrix_, GemvBatches(matrix_, {GemvOrder::stored, 1}), values, *library, streams);
      });
    }
  }

  void measure_devices(const GemvOptions& options, int streams) {
    std::vector<int> devices;
    for (const cuda::Device& d : cuda::device_report().devices) devices.push_back(d.number);
    devices.resize(std::size_t(plan_.gpus));
    const PaperFigure figure{
        .way = "variable batch", .order = options.order, .batch = options.count, .streams = streams, .gpus = plan_.gpus};
    measure(figure, [&](PaperFigure&) { return std::make_unique<PaperDevices>(matrix_, options, devices, streams); });
  }

  void measure(PaperFigure figure, const Made& make) {
    try {
      const auto product = make(figure);
      figure.bytes += product->bytes();
      figure.launches = product->launches();
      compare(*product, figure);
      const std::vector<double> seconds = samples(*product);
      compare(*product, figure);
      figure.samples = i64(seconds.size());
      figure.seconds = seconds[seconds.size() / 2];
    } catch (const Error& e) {
      figure.bytes = 0;
      (e.code() == Errc::unsupported ? figure.remark : figure.failure) = e.what();
    }
    figures_.push_back(std::move(figure));
  }

  /// Sorted. Products of less than 20 ms are measured together, so that what the first launch of them takes is not; one of
  /// more than a second, which a product before it has warmed up, is the only sample.
  std::vector<double> samples(MeasuredProduct& product) const {
    using Clock = std::chrono::steady_clock;
    constexpr double together = 0.02;
    constexpr auto patience = std::chrono::seconds(3);
    const double one = product.seconds(1);
    if (one > 1) return {one};
    const int products = int(std::clamp(together / std::max(one, 1e-6), 1.0, 20.0));
    std::vector<double> seconds;
    const auto begin = Clock::now();
    while (seconds.empty() || (int(seconds.size()) < plan_.repeats && Clock::now() - begin < patience))
      seconds.push_back(product.seconds(products));
    std::sort(seconds.begin(), seconds.end());
    return seconds;
  }

  void compare(MeasuredProduct& product, PaperFigure& figure) const {
    const std::vector<double> y = product.result_of(x_);
    double off = 0, whole = 0;
    for (std::size_t i = 0; i < y.size(); i++) {
      off += (y[i] - exact_[i]) * (y[i] - exact_[i]);
      whole += exact_[i] * exact_[i];
    }
    const double difference = std::sqrt(off / whole);
    figure.difference = std::max(figure.difference, difference);
    if (difference <= 1e-12 * std::sqrt(double(y.size()))) return;
    std::ostringstream text;
    text << "the product differs from the host's by " << difference << " of it, in the 2-norm";
    throw Error(Errc::device, text.str());
  }

  const HMatrix& matrix_;
  const PaperPlan& plan_;
  std::vector<double> x_, exact_;
  std::vector<PaperFigure> figures_;
};

void require_gpus(int repeats, int gpus) {
  if (repeats < 1) bad_argument("a way is measured once at least");
  const cuda::DeviceReport report = cuda::device_report();
  if (!report.reason.empty()) throw Error(Errc::unsupported, "the paper's ways cannot be measured: " + report.reason);
  if (gpus < 1) bad_argument("the paper's ways are measured on a GPU at least");
  if (int(report.devices.size()) < gpus)
    throw Error(Errc::unsupported, "the paper's ways cannot be measured on " + std::to_string(gpus) + " GPUs: there are " +
                                       std::to_string(report.devices.size()));
}

PaperBatch told(const GemvPhase& phase, const GemvBatch& batch) {
  PaperBatch b{.begin = batch.begin, .end = batch.end, .rows_most = batch.rows, .columns_most = batch.columns};
  b.rows_least = batch.rows, b.columns_least = batch.columns;
  for (i64 k = batch.begin; k < batch.end; k++) {
    const Gemv& g = phase.gemvs[std::size_t(k)];
    b.rows_least = std::min(b.rows_least, g.rows);
    b.columns_least = std::min(b.columns_least, g.columns);
    b.values += i64(g.rows) * g.columns;
  }
  return b;
}

void measure_series(std::vector<PaperBatch>& all, const HMatrix& matrix, const DeviceValues& values, const GemvOptions& options,
                    int repeats) {
  constexpr int in_a_row = 5;
  const bool fixed = options.count == of_one_size;
  const auto product = batch_product(matrix, GemvBatches(matrix, options), values, fixed, Subgrid::of_most_rows, 1);
  for (int phase : {0, 1}) {
    std::vector<std::vector<double>> samples;
    for (int k = 0; k < repeats; k++) samples.push_back(product->seconds_of_items(phase, in_a_row));
    const auto& batches = product->phase(phase).batches;
    for (std::size_t item = 0; item < batches.size(); item++) {
      std::vector<double> seconds;
      for (const auto& sample : samples) seconds.push_back(sample[item]);
      std::sort(seconds.begin(), seconds.end());
      PaperBatch& b = all.emplace_back(told(product->phase(phase), batches[item]));
      b.order = options.order, b.batch = options.count, b.phase = phase;
      b.seconds = seconds[seconds.size() / 2];
    }
  }
}

}  // namespace

std::vector<PaperFigure> measure_paper_ways(const HMatrix& matrix, const PaperPlan& plan) {
  require_gpus(plan.repeats, plan.gpus);
  cuda::OnDevice on(cuda::device_report().devices.front().number);
  return Ways(matrix, plan).measure();
}

std::vector<PaperBatch> measure_paper_batches(const HMatrix& matrix, int repeats) {
  require_gpus(repeats, 1);
  cuda::OnDevice on(cuda::device_report().devices.front().number);
  const DeviceValues values(matrix, GemvBatches(matrix, {GemvOrder::stored, 1}));
  std::vector<PaperBatch> all;
  for (const GemvOptions& options :
       {GemvOptions{GemvOrder::by_rows, 20000}, GemvOptions{GemvOrder::by_groups, 20000}, GemvOptions{GemvOrder::by_groups, 0},
        GemvOptions{GemvOrder::stored, 20000}, GemvOptions{GemvOrder::by_rows, of_one_size}})
    measure_series(all, matrix, values, options, repeats);
  return all;
}

}  // namespace sordino::hmatrix
