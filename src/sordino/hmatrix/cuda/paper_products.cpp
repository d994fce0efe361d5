#include "sordino/hmatrix/cuda/paper_products.hpp"

#include <algorithm>
#include <string>

#include "sordino/base/parallel.hpp"

namespace sordino::hmatrix {
namespace {

using cuda::call;

constexpr i64 staged_values = i64(12) << 20;  // on their way to the device at a time, unless a gemv has more

/// Streams of our own wait for nothing that goes on elsewhere, so all of it is there when this returns.
void copy_to_device(void* to, const void* from, i64 bytes) {
  if (bytes == 0) return;
  call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, std::size_t(bytes), cudaMemcpyHostToDevice, nullptr));
  call("cudaStreamSynchronize", cudaStreamSynchronize(nullptr));
}

class BatchProduct final : public PaperProduct {
 public:
  BatchProduct(const HMatrix& matrix, GemvBatches plan, const DeviceValues& values, bool fixed, Subgrid subgrid, int streams)
      : PaperProduct(matrix, std::move(plan), streams, 1), values_(values), fixed_(fixed), subgrid_(subgrid) {
    for (const GemvPhase& phase : plan_.phases) {
      const auto& table =
          tables_.emplace_back(std::make_unique<DeviceArray<Gemv>>(i64(phase.gemvs.size()), "the table of gemvs"));
      copy_to_device(table->data(), phase.gemvs.data(), table->bytes());
    }
  }
  i64 bytes() const override { return PaperProduct::bytes() + tables_[0]->bytes() + tables_[1]->bytes(); }

 private:
  i64 items(int phase) const override { return i64(plan_.phases[std::size_t(phase)].batches.size()); }
  void start_item(int phase, i64 item, int s) override {
    const GemvBatch& b = plan_.phases[std::size_t(phase)].batches[std::size_t(item)];
    start({.gemvs = tables_[std::size_t(phase)]->data() + b.begin,
           .values = values_.data(),
           .vectors = vectors_.data(),
           .result = plan_.result,
           .count = b.end - b.begin,
           .rows = b.rows,
           .columns = b.columns,
           .fixed = fixed_,
           .by_columns = phase == 1,
           .subgrid = subgrid_},
          stream(s));
  }

  const DeviceValues& values_;
  bool fixed_;
  Subgrid subgrid_;
  std::vector<std::unique_ptr<DeviceArray<Gemv>>> tables_;  // [phases]
};

class CublasProduct final : public PaperProduct {
 public:
  CublasProduct(const HMatrix& matrix, GemvBatches plan, const DeviceValues& values, const Cublas& library, int streams)
      : PaperProduct(matrix, std::move(plan), streams, streams), values_(values) {
    for (int s = 0; s < streams; s++) handles_.push_back(std::make_unique<CublasStream>(library, stream(s)));
  }

 private:
  i64 items(int phase) const override { return i64(plan_.phases[std::size_t(phase)].gemvs.size()); }
  void start_item(int phase, i64 item, int s) override {
    const Gemv& g = plan_.phases[std::size_t(phase)].gemvs[std::size_t(item)];
    const bool adds = g.factor != Factor::v;
    handles_[std::size_t(s)]->multiply(values_.data() + g.values, g.rows, g.columns, g.factor == Factor::u,
                                       vectors_.data() + g.from, adds ? 1 : 0,
                                       vectors_.data() + g.to + (adds ? s * span() : 0));
  }

  const DeviceValues& values_;
  std::vector<std::unique_ptr<CublasStream>> handles_;
};

}  // namespace

void* reserve_on_device(i64 bytes, const char* what) {
  std::size_t available = 0, total = 0;
  call("cudaMemGetInfo", cudaMemGetInfo(&available, &total));
  void* p = nullptr;
  const std::size_t wanted = std::size_t(std::max<i64>(bytes, 1));
  const cudaError_t e = wanted > available ? cudaErrorMemoryAllocation : cudaMalloc(&p, wanted);
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(Errc::unsupported, "the GPU has too little memory for " + std::string(what) + ": " + std::to_string(bytes) +
                                       " bytes needed, " + std::to_string(available) + " available");
  }
  call("cudaMalloc", e);
  return p;
}

DeviceValues::DeviceValues(const HMatrix& matrix, const GemvBatches& plan) : values_(plan.values, "the blocks' values") {
  std::vector<const Gemv*> stored;
  for (const GemvPhase& phase : plan.phases)
    for (const Gemv& g : phase.gemvs) stored.push_back(&g);
  std::sort(stored.begin(), stored.end(), [](const Gemv* a, const Gemv* b) { return a->values < b->values; });
  const i64 count = i64(stored.size());
  auto begin_of = [&](i64 k) { return k < count ? stored[std::size_t(k)]->values : plan.values; };
  std::vector<double> staged;
  for (i64 begin = 0, end = 0; begin < count; begin = end) {
    for (end = begin + 1; end < count && begin_of(end + 1) - begin_of(begin) <= staged_values;) end++;
    staged.resize(std::size_t(begin_of(end) - begin_of(begin)));
    auto some = [&](i64 first, i64 last) {
      for (i64 k = first; k < last; k++) {
        const Gemv& g = *stored[std::size_t(k)];
        copy_values(matrix.leaves()[std::size_t(g.leaf)], g, staged.data() + (g.values - begin_of(begin)));
      }
    };
    for_parts(begin, end, some, 16);
    copy_to_device(values_.data() + begin_of(begin), staged.data(), i64(staged.size() * sizeof(double)));
  }
}

// --- a product ---------------------------------------------------------------------------------------------------------------

// What padding reads beyond the ends of operands is finite from here on.
PaperProduct::PaperProduct(const HMatrix& matrix, GemvBatches plan, int streams, int copies)
    : plan_(std::move(plan)), vectors_(plan_.places + (copies - 1) * span(), "vectors"), n_(matrix.size()), copies_(copies) {
  call("cudaMemset", cudaMemset(vectors_.data(), 0, std::size_t(vectors_.bytes())));
  call("cudaDeviceSynchronize", cudaDeviceSynchronize());
  try {
    make_streams(streams);
  } catch (const Error&) {
    free_streams();
    throw;
  }
}

PaperProduct::~PaperProduct() { free_streams(); }

void PaperProduct::make_streams(int count) {
  for (int s = 0; s < count; s++) {
    call("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&streams_.emplace_back(nullptr), cudaStreamNonBlocking));
    call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&arrived_.emplace_back(nullptr), cudaEventDisableTiming));
  }
  call("cudaEventCreate", cudaEventCreate(&first_));
  call("cudaEventCreate", cudaEventCreate(&last_));
}

void PaperProduct::free_streams() {
  for (cudaStream_t s : streams_)
    if (s) cudaStreamDestroy(s);
  for (cudaEvent_t e : arrived_)
    if (e) cudaEventDestroy(e);
  for (cudaEvent_t e : {first_, last_})
    if (e) cudaEventDestroy(e);
}

void PaperProduct::begin(int phase) {
  if (phase == 0) call("cudaMemsetAsync", cudaMemsetAsync(y(), 0, std::size_t(copies_ * span()) * sizeof(double), stream()));
  meet();
}

void PaperProduct::end() {
  meet();
  for (int copy = 1; copy < copies_; copy++) start_adding(y(), y() + copy * span(), n_, stream());
}

void PaperProduct::multiply() {
  for (int phase : {0, 1}) {
    begin(phase);
    for (i64 k = 0; k < items(phase); k++) launch(phase, k);
  }
  end();
}

/// What comes later on any stream waits for all that came before on each of them.
void PaperProduct::meet() {
  if (streams() == 1) return;
  for (int s = 0; s < streams(); s++) call("cudaEventRecord", cudaEventRecord(arrived_[std::size_t(s)], stream(s)));
  for (int s = 0; s < streams(); s++)
    for (int other = 0; other < streams(); other++)
      if (other != s) call("cudaStreamWaitEvent", cudaStreamWaitEvent(stream(s), arrived_[std::size_t(other)], 0));
}

std::vector<double> PaperProduct::result_of(const std::vector<double>& x) {
  const std::size_t bytes = std::size_t(n_) * sizeof(double);
  std::vector<double> y(x.size());
  call("cudaMemcpyAsync", cudaMemcpyAsync(vectors_.data(), x.data(), bytes, cudaMemcpyHostToDevice, stream()));
  multiply();
  call("cudaMemcpyAsync", cudaMemcpyAsync(y.data(), this->y(), bytes, cudaMemcpyDeviceToHost, stream()));
  call("cudaStreamSynchronize", cudaStreamSynchronize(stream()));
  return y;
}

double PaperProduct::timed(int times, const std::function<void()>& work) {
  call("cudaEventRecord", cudaEventRecord(first_, stream(0)));
  for (int k = 0; k < times; k++) work();
  call("cudaEventRecord", cudaEventRecord(last_, stream(0)));
  call("cudaEventSynchronize", cudaEventSynchronize(last_));
  float ms = 0;
  call("cudaEventElapsedTime", cudaEventElapsedTime(&ms, first_, last_));
  return ms * 1e-3 / times;
}

double PaperProduct::seconds(int products) {
  return timed(products, [this] { multiply(); });
}

std::vector<double> PaperProduct::seconds_of_items(int phase, int times) {
  std::vector<double> seconds;
  for (i64 item = 0; item < items(phase); item++) {
    start_item(phase, item, 0);  // so that the first one's time is not that of coming to the device
    seconds.push_back(timed(times, [&] { start_item(phase, item, 0); }));
  }
  return seconds;
}

i64 PaperProduct::launches() const { return items(0) + items(1); }

std::unique_ptr<PaperProduct> batch_product(const HMatrix& matrix, GemvBatches plan, const DeviceValues& values, bool fixed,
                                            Subgrid subgrid, int streams) {
  return std::make_unique<BatchProduct>(matrix, std::move(plan), values, fixed, subgrid, streams);
}

std::unique_ptr<PaperProduct> cublas_product(const HMatrix& matrix, GemvBatches plan, const DeviceValues& values,
                                             const Cublas& library, int streams) {
  return std::make_unique<CublasProduct>(matrix, std::move(plan), values, library, streams);
}

}  // namespace sordino::hmatrix
