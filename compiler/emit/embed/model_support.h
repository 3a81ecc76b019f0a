//===----------------------------------------------------------------------===//
// What the C++ classes of all models share. C++11, no exceptions thrown, no
// run-time types needed; include guard as above.
//===----------------------------------------------------------------------===//

#ifndef WEIR_MODEL_SUPPORT_H
#define WEIR_MODEL_SUPPORT_H
#ifdef __cplusplus

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>
#include <utility>

#if __cplusplus >= 201703L
#define WEIR_NODISCARD_CLASS [[nodiscard]]
#else
#define WEIR_NODISCARD_CLASS
#endif

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
class WEIR_NODISCARD_CLASS Status {
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
  /// With `format` filled as printf does, by a name and two numbers.
  Status(int32_t code, const char *format, const char *name, int64_t first, int64_t second) noexcept
      : Status() {
    status_.code = code;
    std::snprintf(status_.message, sizeof(status_.message), format, name,
                  static_cast<long long>(first), static_cast<long long>(second));
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

  /// Gives a feed its shape, and memory of its own for that. After an error it is as
  /// it was.
  WEIR_NODISCARD Status resize(const int64_t *dims, size_t rank) const noexcept {
    int64_t bytes = 0;
    Status status = check(dims, rank, bytes);
    if (!status)
      return status;
    void *data = memory_->reserve(size_t(bytes));
    if (!data)
      return Status(WEIR_RESOURCE_EXHAUSTED, "feed \"%s\": no memory for %lld bytes", name(), bytes,
                    0);
    shape(data, dims, rank, bytes);
    return status;
  }
  WEIR_NODISCARD Status resize(std::initializer_list<int64_t> dims) const noexcept {
    return resize(dims.begin(), dims.size());
  }
  /// Reads a feed from the caller's memory, or offers it to a fetch, without a
  /// copy. It must live until the last run that uses it. INVALID_ARGUMENT, and nothing
  /// is bound: it is too small for the shape, where that is known. A fetch that is
  /// bound to null has no memory of the caller's any more.
  WEIR_NODISCARD Status bind(const void *data, size_t bytes) const noexcept {
    if (!tensor_)
      return Status(WEIR_NOT_FOUND, "there is no feed or fetch of that name");
    int64_t needed =
        memory_ ? bytes_of(tensor_->rank, tensor_->dims) : bytes_of(facts_->rank, facts_->dims);
    if (data && int64_t(bytes) < needed)
      return Status(WEIR_INVALID_ARGUMENT, "\"%s\": expected memory of %lld bytes, got %lld",
                    name(), needed, int64_t(bytes));
    if (!offer_) {
      tensor_->data = const_cast<void *>(data);
      tensor_->bytes = int64_t(bytes);
      return Status();
    }
    // The last result stays where it is until the next run.
    if (!data && tensor_->data == offer_->data) {
      tensor_->data = nullptr;
      tensor_->bytes = 0;
    }
    offer_->data = const_cast<void *>(data);
    offer_->bytes = int64_t(bytes);
    return Status();
  }
  /// The same of a feed with a shape, for which the memory must suffice.
  WEIR_NODISCARD Status bind(const void *data, std::initializer_list<int64_t> dims) const noexcept {
    int64_t bytes = 0;
    Status status = check(dims.begin(), dims.size(), bytes);
    if (status)
      shape(const_cast<void *>(data), dims.begin(), dims.size(), bytes);
    return status;
  }
  /// Of a fetch, after a run: that its bound memory, if any, has the result.
  Status fits() const noexcept {
    bool isOffered = facts_ && offer_ && offer_->data && facts_->dtype != WEIR_STRING &&
                     facts_->dtype != WEIR_TENSOR;
    if (!isOffered || tensor_->data == offer_->data)
      return Status();
    return Status(
        WEIR_OUT_OF_RANGE,
        "\"%s\": expected bound memory of %lld bytes, got %lld; the result lies in memory "
        "of the session",
        name(), tensor_->bytes, offer_->bytes);
  }

private:
  /// Whether a feed may have that shape, and how many bytes it takes.
  Status check(const int64_t *dims, size_t rank, int64_t &bytes) const noexcept {
    if (!memory_)
      return Status(WEIR_NOT_FOUND, "there is no feed of that name");
    if (facts_->rank >= 0 ? int64_t(rank) != facts_->rank : rank > WEIR_MAX_RANK)
      return Status(WEIR_INVALID_ARGUMENT, "feed \"%s\": expected rank %lld, got %lld", name(),
                    facts_->rank >= 0 ? facts_->rank : WEIR_MAX_RANK, int64_t(rank));
    bytes = facts_->element_bytes;
    for (size_t i = 0; i < rank; ++i) {
      if (dims[i] < 0)
        return Status(WEIR_INVALID_ARGUMENT, "feed \"%s\": size %lld is %lld", name(), int64_t(i),
                      dims[i]);
      if (facts_->rank >= 0 && facts_->dims[i] >= 0 && facts_->dims[i] != dims[i])
        return Status(WEIR_INVALID_ARGUMENT, "feed \"%s\": expected size %lld, got %lld", name(),
                      facts_->dims[i], dims[i]);
      if (dims[i] > 0 && bytes > INT64_MAX / dims[i])
        return Status(WEIR_RESOURCE_EXHAUSTED,
                      "feed \"%s\": the shape takes more than any memory holds", name(), 0, 0);
      bytes *= dims[i];
    }
    return Status();
  }
  void shape(void *data, const int64_t *dims, size_t rank, int64_t bytes) const noexcept {
    tensor_->data = data;
    tensor_->bytes = bytes;
    tensor_->rank = int32_t(rank);
    for (size_t i = 0; i < rank; ++i)
      tensor_->dims[i] = dims[i];
  }
  /// What the elements take where all sizes are known, else 0.
  int64_t bytes_of(int32_t rank, const int64_t *dims) const noexcept {
    int64_t bytes = facts_->rank < 0 ? 0 : facts_->element_bytes;
    for (int32_t i = 0; i < rank; ++i)
      bytes *= dims[i] < 0 ? 0 : dims[i];
    return bytes;
  }

  const TensorFacts *facts_;
  weir_tensor *tensor_;
  FeedMemory *memory_; ///< null: a fetch
  FetchMemory *offer_; ///< null: a feed
};

/// A feed or a fetch before any run: its shape, with -1 for what is not fixed. A run
/// refuses a feed that still has such a size: nothing was fed.
inline void describe(const TensorFacts &facts, weir_tensor &tensor) noexcept {
  std::memset(&tensor, 0, sizeof(tensor));
  tensor.dtype = facts.dtype;
  tensor.rank = facts.rank < 0 ? 0 : facts.rank;
  tensor.bytes = facts.rank < 0 ? 0 : facts.element_bytes;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    tensor.dims[i] = facts.dims[i];
    tensor.bytes *= facts.dims[i] < 0 ? 0 : facts.dims[i];
  }
}

} // namespace v1
} // namespace weir

#endif // __cplusplus
#endif // WEIR_MODEL_SUPPORT_H
