#include "sordino/hmatrix/cuda/paper_devices.hpp"

#include <algorithm>

#include "sordino/runtime/cuda/peers.hpp"

namespace sordino::hmatrix {

using cuda::call;
using cuda::OnDevice;

namespace {

/// Of the device that is current when it is made.
class Event {
 public:
  explicit Event(unsigned flags) { call("cudaEventCreateWithFlags", cudaEventCreateWithFlags(&event_, flags)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  /// On a stream of the same device.
  void record(cudaStream_t stream) { call("cudaEventRecord", cudaEventRecord(event_, stream)); }
  /// On a stream of any device.
  void hold(cudaStream_t stream) const { call("cudaStreamWaitEvent", cudaStreamWaitEvent(stream, event_, 0)); }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

/// Made while its GPU is the current one.
struct PaperDevices::Device {
  Device(int device, const HMatrix& matrix, GemvBatches plan, int streams)
      : number(device),
        values(matrix, plan),
        product(batch_product(matrix, std::move(plan), values, false, Subgrid::of_most_rows, streams)) {}

  int number;
  DeviceValues values;
  std::unique_ptr<PaperProduct> product;
  Event done{cudaEventDisableTiming};                     // what others wait for
  Event first{cudaEventDefault}, last{cudaEventDefault};  // of a measurement
};

PaperDevices::PaperDevices(const HMatrix& matrix, const GemvOptions& options, const std::vector<int>& devices, int streams)
    : n_(matrix.size()) {
  cuda::enable_peers(devices);  // copies between others go by way of the host
  const auto leaves = deal(matrix, options, int(devices.size()));
  for (std::size_t k = 0; k < devices.size(); k++) {
    OnDevice on(devices[k]);
    devices_.push_back(std::make_unique<Device>(devices[k], matrix, GemvBatches(matrix, options, leaves[k]), streams));
    if (k == 0 && devices.size() > 1) brought_ = std::make_unique<DeviceArray<double>>(n_, "the result of another GPU");
  }
}

PaperDevices::~PaperDevices() = default;

void PaperDevices::multiply() {
  i64 most = 0;
  for (int phase : {0, 1}) {
    for (const auto& d : devices_) {
      OnDevice on(d->number);
      d->product->begin(phase);
      most = std::max(most, d->product->items(phase));
    }
    for (i64 item = 0; item < most; item++)
      for (const auto& d : devices_) {
        if (item >= d->product->items(phase)) continue;
        OnDevice on(d->number);
        d->product->launch(phase, item);
      }
  }
  for (const auto& d : devices_) {
    OnDevice on(d->number);
    d->product->end();
    d->done.record(d->product->stream());
  }
  if (devices_.size() == 1) return;
  add_up();
  broadcast();
}

/// y of the first device becomes the sum of all.
void PaperDevices::add_up() {
  const Device& first = *devices_.front();
  const cudaStream_t stream = first.product->stream();
  OnDevice on(first.number);
  for (std::size_t k = 1; k < devices_.size(); k++) {
    const Device& other = *devices_[k];
    other.done.hold(stream);
    call("cudaMemcpyPeerAsync", cudaMemcpyPeerAsync(brought_->data(), first.number, other.product->y(), other.number,
                                                    std::size_t(brought_->bytes()), stream));
    start_adding(first.product->y(), brought_->data(), n_, stream);
  }
  devices_.front()->done.record(stream);
}

/// y of the others becomes that of the first, which goes on when all have it.
void PaperDevices::broadcast() {
  const Device& first = *devices_.front();
  for (std::size_t k = 1; k < devices_.size(); k++) {
    Device& other = *devices_[k];
    const cudaStream_t stream = other.product->stream();
    OnDevice on(other.number);
    first.done.hold(stream);
    call("cudaMemcpyPeerAsync", cudaMemcpyPeerAsync(other.product->y(), other.number, first.product->y(), first.number,
                                                    std::size_t(brought_->bytes()), stream));
    other.done.record(stream);
  }
  OnDevice on(first.number);
  for (std::size_t k = 1; k < devices_.size(); k++) devices_[k]->done.hold(first.product->stream());
}

/// Of the last device, whose y has been copied to it.
std::vector<double> PaperDevices::result_of(const std::vector<double>& x) {
  const std::size_t bytes = x.size() * sizeof(double);
  for (const auto& d : devices_) {
    OnDevice on(d->number);
    const cudaStream_t stream = d->product->stream();
    call("cudaMemcpyAsync", cudaMemcpyAsync(d->product->x(), x.data(), bytes, cudaMemcpyHostToDevice, stream));
  }
  multiply();
  std::vector<double> y(x.size());
  const Device& last = *devices_.back();
  OnDevice on(last.number);
  const cudaStream_t stream = last.product->stream();
  call("cudaMemcpyAsync", cudaMemcpyAsync(y.data(), last.product->y(), bytes, cudaMemcpyDeviceToHost, stream));
  call("cudaStreamSynchronize", cudaStreamSynchronize(stream));
  return y;
}

/// From where all devices begin to where the first has its last sum, and all others have it.
double PaperDevices::seconds(int products) {
  Device& first = *devices_.front();
  const cudaStream_t stream = first.product->stream();
  {
    OnDevice on(first.number);
    first.first.record(stream);
  }
  for (const auto& d : devices_) {
    OnDevice on(d->number);
    first.first.hold(d->product->stream());
  }
  for (int k = 0; k < products; k++) multiply();
  OnDevice on(first.number);
  first.last.record(stream);
  call("cudaEventSynchronize", cudaEventSynchronize(first.last.get()));
  float ms = 0;
  call("cudaEventElapsedTime", cudaEventElapsedTime(&ms, first.first.get(), first.last.get()));
  return ms * 1e-3 / products;
}

i64 PaperDevices::launches() const {
  i64 sum = 0;
  for (const auto& d : devices_) sum += d->product->launches();
  return sum;
}

i64 PaperDevices::bytes() const {
  i64 sum = brought_ ? brought_->bytes() : 0;
  for (const auto& d : devices_) sum += d->values.bytes() + d->product->bytes();
  return sum;
}

}  // namespace sordino::hmatrix
