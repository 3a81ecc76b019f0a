//===----------------------------------------------------------------------===//
// What the C++ classes of all models share. C++11, no exceptions thrown, no
// run-time types needed; include guard as above.
//===----------------------------------------------------------------------===//

#ifndef WEIR_MODEL_SUPPORT_H
#define WEIR_MODEL_SUPPORT_H
#ifdef __cplusplus

#include <cstring>
#include <initializer_list>
#include <new>
#include <utility>

namespace weir {
inline namespace v1 {

/// Elements that lie one after the other in memory that something else owns.
template <typename T> class Span {
public:
  Span() noexcept : data_(nullptr), size_(0) {}
  Span(T *data, size_t size) noexcept : data_(data), size_(size) {}
  T *data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }
  T &operator[](size_t i) const noexcept { return data_[i]; }

private:
  T *data_;
  size_t size_;
};

/// How a call ended. True in a condition when it went well.
class Status {
public:
  Status() noexcept {
    status_.size = static_cast<uint32_t>(sizeof(status_));
    status_.code = WEIR_OK;
    status_.message[0] = 0;
  }
  Status(int32_t code, const char *message) noexcept : Status() {
    status_.code = code;
    std::strncpy(status_.message, message, sizeof(status_.message) - 1);
    status_.message[sizeof(status_.message) - 1] = 0;
  }
  bool ok() const noexcept { return status_.code == WEIR_OK; }
  explicit operator bool() const noexcept { return ok(); }
  int32_t code() const noexcept { return status_.code; } ///< weir_code
  const char *message() const noexcept { return status_.message; }
  /// For calls of the C API.
  weir_status *get() noexcept { return &status_; }

private:
  weir_status status_;
};

/// Memory of a feed, 64-byte aligned, kept for the next run.
class FeedMemory {
public:
  FeedMemory() noexcept : base_(nullptr), bytes_(0) {}
  FeedMemory(const FeedMemory &) = delete;
  FeedMemory &operator=(const FeedMemory &) = delete;
  ~FeedMemory() { ::operator delete(base_); }
  void swap(FeedMemory &other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
  }
  /// At least that many bytes, or null. The old contents may be lost; what is
  /// new is zero.
  void *reserve(size_t bytes) noexcept {
    if (!base_ || bytes > bytes_) {
      ::operator delete(base_);
      bytes_ = 0;
      base_ = ::operator new(bytes + 64, std::nothrow);
      if (!base_)
        return nullptr;
      bytes_ = bytes;
      std::memset(base_, 0, bytes + 64);
    }
    uintptr_t address = reinterpret_cast<uintptr_t>(base_);
    return reinterpret_cast<void *>((address + 63) & ~uintptr_t(63));
  }

private:
  void *base_;
  size_t bytes_;
};

/// Memory of the caller's that a fetch is offered in every run. Null: none.
struct FetchMemory {
  void *data;
  int64_t bytes;
};

/// What the header knows about a feed or a fetch.
struct TensorFacts {
  const char *name;
  int32_t dtype;
  int32_t rank; ///< -1: unknown
  int64_t element_bytes;
  const int64_t *dims; ///< -1: not fixed
};

/// A feed or a fetch of a model object, by name. False in a condition when
/// there is none of that name; then nothing else has an effect.
class Tensor {
public:
  Tensor() noexcept : facts_(nullptr), tensor_(nullptr), memory_(nullptr), offer_(nullptr) {}
  Tensor(const TensorFacts *facts, weir_tensor *tensor, FeedMemory *memory) noexcept
      : facts_(facts), tensor_(tensor), memory_(memory), offer_(nullptr) {}
  Tensor(const TensorFacts *facts, weir_tensor *tensor, FetchMemory *offer) noexcept
      : facts_(facts), tensor_(tensor), memory_(nullptr), offer_(offer) {}

  explicit operator bool() const noexcept { return facts_ != nullptr; }
  const char *name() const noexcept { return facts_ ? facts_->name : ""; }
  int32_t dtype() const noexcept { return facts_ ? facts_->dtype : 0; }
  int32_t rank() const noexcept { return tensor_ ? tensor_->rank : 0; }
  Span<const int64_t> dims() const noexcept {
    return tensor_
               ? Span<const int64_t>(tensor_->dims, tensor_->rank > 0 ? size_t(tensor_->rank) : 0)
               : Span<const int64_t>();
  }
  size_t bytes() const noexcept { return tensor_ ? size_t(tensor_->bytes) : 0; }
  size_t size() const noexcept { return facts_ ? bytes() / size_t(facts_->element_bytes) : 0; }
  /// A feed's memory, made when it is first asked for; what a fetch holds after
  /// a run.
  void *data() const noexcept {
    if (!tensor_)
      return nullptr;
    if (!tensor_->data && memory_ && tensor_->bytes >= 0)
      tensor_->data = memory_->reserve(size_t(tensor_->bytes));
    return tensor_->data;
  }
  /// The elements as T, which must have their size; empty when it does not.
  template <typename T> Span<T> as() const noexcept {
    if (!facts_ || facts_->element_bytes != int64_t(sizeof(T)))
      return Span<T>();
    T *elements = static_cast<T *>(data());
    return elements ? Span<T>(elements, size()) : Span<T>();
  }

  /// Gives a feed its shape, and memory of its own for that.
  bool resize(const int64_t *dims, size_t rank) const noexcept {
    if (!memory_ || rank > WEIR_MAX_RANK)
      return false;
    uint64_t bytes = uint64_t(facts_->element_bytes);
    for (size_t i = 0; i < rank; ++i) {
      if (dims[i] < 0 || (dims[i] > 0 && bytes > uint64_t(INT64_MAX) / uint64_t(dims[i])))
        return false;
      bytes *= uint64_t(dims[i]);
    }
    void *data = memory_->reserve(size_t(bytes));
    if (!data)
      return false;
    tensor_->data = data;
    tensor_->bytes = int64_t(bytes);
    tensor_->rank = int32_t(rank);
    for (size_t i = 0; i < rank; ++i)
      tensor_->dims[i] = dims[i];
    return true;
  }
  bool resize(std::initializer_list<int64_t> dims) const noexcept {
    return resize(dims.begin(), dims.size());
  }
  /// Reads a feed from the caller's memory, or offers it to a fetch, without a
  /// copy. It must live until the last run that uses it.
  void bind(const void *data, size_t bytes) const noexcept {
    if (!tensor_)
      return;
    if (offer_) {
      // The last result stays where it is until the next run.
      if (!data && tensor_->data == offer_->data) {
        tensor_->data = nullptr;
        tensor_->bytes = 0;
      }
      offer_->data = const_cast<void *>(data);
      offer_->bytes = int64_t(bytes);
      return;
    }
    tensor_->data = const_cast<void *>(data);
    tensor_->bytes = int64_t(bytes);
  }

private:
  const TensorFacts *facts_;
  weir_tensor *tensor_;
  FeedMemory *memory_; ///< null: a fetch
  FetchMemory *offer_; ///< null: a feed
};

/// A feed or a fetch before any run: its shape, where it is fixed.
inline void describe(const TensorFacts &facts, weir_tensor &tensor) noexcept {
  std::memset(&tensor, 0, sizeof(tensor));
  tensor.dtype = facts.dtype;
  tensor.rank = facts.rank < 0 ? 0 : facts.rank;
  tensor.bytes = facts.rank < 0 ? 0 : facts.element_bytes;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    tensor.dims[i] = facts.dims[i] < 0 ? 0 : facts.dims[i];
    tensor.bytes *= tensor.dims[i];
  }
}

} // namespace v1
} // namespace weir

#endif // __cplusplus
#endif // WEIR_MODEL_SUPPORT_H
