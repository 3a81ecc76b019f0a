//===- HostTensor.cpp - a tensor that the tools own -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/HostTensor.h"

#include "compiler/frontend/EntrySpec.h"

#include "llvm/ADT/APFloat.h"

#include <charconv>
#include <cmath>
#include <cstring>

using namespace weir;
using namespace weir::tools;

namespace {

struct TypeRow {
  int32_t dtype;
  int64_t size;
  std::string_view name;
};

constexpr TypeRow typeRows[] = {
    {WEIR_F32, 4, "f32"},
    {WEIR_U8, 1, "u8"},
    {WEIR_I8, 1, "i8"},
    {WEIR_U16, 2, "u16"},
    {WEIR_I16, 2, "i16"},
    {WEIR_I32, 4, "i32"},
    {WEIR_I64, 8, "i64"},
    {WEIR_STRING, 0, "string"},
    {WEIR_BOOL, 1, "bool"},
    {WEIR_F16, 2, "f16"},
    {WEIR_F64, 8, "f64"},
    {WEIR_U32, 4, "u32"},
    {WEIR_U64, 8, "u64"},
    {WEIR_C64, 8, "c64"},
    {WEIR_C128, 16, "c128"},
    {WEIR_BF16, 2, "bf16"},
    {WEIR_F8E4M3FN, 1, "f8e4m3fn"},
    {WEIR_F8E4M3FNUZ, 1, "f8e4m3fnuz"},
    {WEIR_F8E5M2, 1, "f8e5m2"},
    {WEIR_F8E5M2FNUZ, 1, "f8e5m2fnuz"},
    {WEIR_U4, 1, "u4"},
    {WEIR_I4, 1, "i4"},
    {WEIR_F4E2M1, 1, "f4e2m1"},
    {WEIR_F8E8M0, 1, "f8e8m0"},
    {WEIR_U2, 1, "u2"},
    {WEIR_I2, 1, "i2"},
    {WEIR_TENSOR, 0, "tensor"},
};

const TypeRow *rowOf(int32_t dtype) {
  for (const TypeRow &row : typeRows)
    if (row.dtype == dtype)
      return &row;
  return nullptr;
}

/// Semantics of the floating-point types that C++ has no type for.
const llvm::fltSemantics *narrowSemantics(int32_t dtype) {
  switch (dtype) {
  case WEIR_F16:
    return &llvm::APFloat::IEEEhalf();
  case WEIR_BF16:
    return &llvm::APFloat::BFloat();
  case WEIR_F8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case WEIR_F8E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case WEIR_F8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case WEIR_F8E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  case WEIR_F4E2M1:
    return &llvm::APFloat::Float4E2M1FN();
  case WEIR_F8E8M0:
    return &llvm::APFloat::Float8E8M0FNU();
  default:
    return nullptr;
  }
}

double narrowToDouble(const llvm::fltSemantics &semantics, uint64_t bits) {
  unsigned width = llvm::APFloat::semanticsSizeInBits(semantics);
  llvm::APFloat value(semantics, llvm::APInt(width, bits, false, true));
  bool lost;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.convertToDouble();
}

uint64_t doubleToNarrow(const llvm::fltSemantics &semantics, double number) {
  llvm::APFloat value(number);
  bool lost;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return value.bitcastToAPInt().getZExtValue();
}

template <typename T> T load(const std::string &bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(std::string &bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

/// Stores the low bytes of an integer of any width.
void storeInteger(HostTensor &tensor, int64_t i, uint64_t value) {
  int64_t size = elementSize(tensor.dtype);
  std::memcpy(tensor.bytes.data() + i * size, &value, size);
}

template <typename T> bool parseNumber(std::string_view text, T &value) {
  if (!text.empty() && text.front() == '+')
    text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // A decimal below the smallest subnormal, or above the largest number, is
  // the zero or the infinity that a strtod would give.
  if (error == std::errc::result_out_of_range && std::is_floating_point_v<T>) {
    value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
    return true;
  }
  return error == std::errc() && end == text.data() + text.size();
}

bool parseComplex(std::string_view text, double &real, double &imaginary) {
  if (text.size() >= 2 && text.front() == '(' && text.back() == ')')
    text = text.substr(1, text.size() - 2);
  real = imaginary = 0;
  if (text.empty())
    return false;
  if (text.back() != 'j')
    return parseNumber(text, real);
  text.remove_suffix(1);
  // The sign that separates the parts is the last one outside an exponent.
  size_t split = 0;
  for (size_t i = text.size(); i-- > 1;)
    if ((text[i] == '+' || text[i] == '-') && text[i - 1] != 'e' && text[i - 1] != 'E') {
      split = i;
      break;
    }
  if (split != 0 && !parseNumber(text.substr(0, split), real))
    return false;
  return parseNumber(text.substr(split), imaginary);
}

/// splitmix64 (Steele, Lea, Flood 2014): the next of a stream of 64-bit values.
uint64_t nextRandom(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace

int64_t weir::tools::productOf(const std::vector<int64_t> &dims) {
  int64_t product = 1;
  bool tooLarge = false;
  for (int64_t dim : dims) {
    if (dim < 0)
      return -1;
    if (dim == 0)
      return 0;
    if (product > (int64_t(1) << 62) / dim)
      tooLarge = true;
    else
      product *= dim;
  }
  return tooLarge ? -1 : product;
}

int64_t HostTensor::count() const { return productOf(dims); }

std::string weir::tools::shapeName(const std::vector<int64_t> &dims) {
  if (dims.empty())
    return "scalar";
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + (dim < 0 ? std::string("?") : std::to_string(dim));
  return text;
}

std::string HostTensor::typeName() const {
  return std::string(dtypeName(dtype)) + " " + shapeName(dims);
}

int64_t weir::tools::elementSize(int32_t dtype) {
  const TypeRow *row = rowOf(dtype);
  return row ? row->size : 0;
}

std::string_view weir::tools::dtypeName(int32_t dtype) {
  const TypeRow *row = rowOf(dtype);
  return row ? row->name : "?";
}

int32_t weir::tools::dtypeOfName(std::string_view name) {
  std::string_view own = typeNameOf(name);
  for (const TypeRow &row : typeRows)
    if (row.name == own)
      return row.dtype;
  return WEIR_INVALID;
}

bool weir::tools::isFloat(int32_t dtype) {
  return dtype == WEIR_F32 || dtype == WEIR_F64 || narrowSemantics(dtype);
}

bool weir::tools::isComplex(int32_t dtype) { return dtype == WEIR_C64 || dtype == WEIR_C128; }

int64_t weir::tools::elementAsInteger(const HostTensor &tensor, int64_t i) {
  switch (tensor.dtype) {
  case WEIR_U8:
  case WEIR_BOOL:
  case WEIR_U4:
  case WEIR_U2:
    return load<uint8_t>(tensor.bytes, i);
  case WEIR_I8:
  case WEIR_I4:
  case WEIR_I2:
    return load<int8_t>(tensor.bytes, i);
  case WEIR_U16:
    return load<uint16_t>(tensor.bytes, i);
  case WEIR_I16:
    return load<int16_t>(tensor.bytes, i);
  case WEIR_U32:
    return load<uint32_t>(tensor.bytes, i);
  case WEIR_I32:
    return load<int32_t>(tensor.bytes, i);
  case WEIR_U64:
  case WEIR_I64:
    return load<int64_t>(tensor.bytes, i);
  default:
    return 0;
  }
}

double weir::tools::elementAsDouble(const HostTensor &tensor, int64_t i) {
  switch (tensor.dtype) {
  case WEIR_F32:
    return load<float>(tensor.bytes, i);
  case WEIR_F64:
    return load<double>(tensor.bytes, i);
  case WEIR_U64:
    return static_cast<double>(load<uint64_t>(tensor.bytes, i));
  case WEIR_F16:
    return static_cast<double>(load<_Float16>(tensor.bytes, i));
  case WEIR_BF16: {
    uint32_t bits = uint32_t(load<uint16_t>(tensor.bytes, i)) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  default:
    if (const llvm::fltSemantics *semantics = narrowSemantics(tensor.dtype)) {
      uint64_t bits = load<uint8_t>(tensor.bytes, i);
      if (tensor.dtype == WEIR_F4E2M1)
        bits &= 15;
      return narrowToDouble(*semantics, bits);
    }
    return static_cast<double>(elementAsInteger(tensor, i));
  }
}

void weir::tools::setElement(HostTensor &tensor, int64_t i, double value) {
  switch (tensor.dtype) {
  case WEIR_F32:
    return store(tensor.bytes, i, static_cast<float>(value));
  case WEIR_F64:
    return store(tensor.bytes, i, value);
  case WEIR_BOOL:
    return store<uint8_t>(tensor.bytes, i, value != 0);
  case WEIR_U64:
    return store(tensor.bytes, i, static_cast<uint64_t>(value));
  default:
    break;
  }
  if (const llvm::fltSemantics *semantics = narrowSemantics(tensor.dtype))
    storeInteger(tensor, i, doubleToNarrow(*semantics, value));
  else
    storeInteger(tensor, i, static_cast<uint64_t>(static_cast<int64_t>(value)));
}

bool weir::tools::setElementFromText(HostTensor &tensor, int64_t i, std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  if (tensor.dtype == WEIR_STRING) {
    tensor.strings[i] = text;
    return true;
  }
  if (text == "True" || text == "true" || text == "False" || text == "false") {
    setElement(tensor, i, text[0] == 'T' || text[0] == 't');
    return !isComplex(tensor.dtype);
  }
  if (isComplex(tensor.dtype)) {
    double real, imaginary;
    if (!parseComplex(text, real, imaginary))
      return false;
    if (tensor.dtype == WEIR_C64) {
      store(tensor.bytes, 2 * i, static_cast<float>(real));
      store(tensor.bytes, 2 * i + 1, static_cast<float>(imaginary));
    } else {
      store(tensor.bytes, 2 * i, real);
      store(tensor.bytes, 2 * i + 1, imaginary);
    }
    return true;
  }
  // Integers are read at their full width, since a double holds 53 bits.
  if (!isFloat(tensor.dtype) && tensor.dtype != WEIR_BOOL) {
    int64_t whole;
    uint64_t large;
    if (parseNumber(text, whole)) {
      storeInteger(tensor, i, static_cast<uint64_t>(whole));
      return true;
    }
    if (parseNumber(text, large)) {
      storeInteger(tensor, i, large);
      return true;
    }
  }
  // Straight to f32: decimal to double to float would round twice.
  float single;
  if (tensor.dtype == WEIR_F32 && parseNumber(text, single)) {
    store(tensor.bytes, i, single);
    return true;
  }
  double number;
  if (!parseNumber(text, number))
    return false;
  setElement(tensor, i, number);
  return true;
}

HostTensor weir::tools::makeTensor(int32_t dtype, std::vector<int64_t> dims) {
  HostTensor tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  int64_t count = std::max<int64_t>(tensor.count(), 0);
  if (dtype == WEIR_STRING)
    tensor.strings.resize(count);
  else
    tensor.bytes.resize(count * elementSize(dtype));
  return tensor;
}

HostTensor weir::tools::randomTensor(int32_t dtype, std::vector<int64_t> dims, uint64_t seed) {
  if (dtype == WEIR_TENSOR)
    dims = {0};
  HostTensor tensor = makeTensor(dtype, std::move(dims));
  if (dtype == WEIR_STRING || dtype == WEIR_TENSOR)
    return tensor;
  uint64_t state = seed;
  int64_t count = tensor.count();
  auto uniform = [&] { return static_cast<double>(nextRandom(state) >> 11) * 0x1p-53; };
  // A complex tensor is twice as many reals.
  HostTensor *real = &tensor;
  HostTensor parts;
  if (isComplex(dtype)) {
    parts.dtype = dtype == WEIR_C64 ? WEIR_F32 : WEIR_F64;
    parts.dims = {2 * count};
    parts.bytes.swap(tensor.bytes);
    real = &parts;
    count *= 2;
  }
  bool fraction = isFloat(real->dtype);
  for (int64_t i = 0; i < count; ++i) {
    double value = uniform();
    setElement(*real, i, fraction ? value : (value < 0.5 ? 0 : 1));
  }
  if (real == &parts)
    tensor.bytes.swap(parts.bytes);
  return tensor;
}

weir_tensor weir::tools::viewOf(HostTensor &tensor, ViewStorage &storage) {
  weir_tensor view = {};
  view.dtype = tensor.dtype;
  view.rank = static_cast<int32_t>(std::min<size_t>(tensor.dims.size(), WEIR_MAX_RANK));
  std::copy_n(tensor.dims.begin(), view.rank, view.dims);
  if (tensor.dtype == WEIR_STRING) {
    storage.strings.clear();
    for (const std::string &text : tensor.strings)
      storage.strings.push_back({text.data(), static_cast<int64_t>(text.size())});
    view.data = storage.strings.data();
    view.bytes = static_cast<int64_t>(storage.strings.size() * sizeof(weir_string));
  } else if (tensor.dtype == WEIR_TENSOR) {
    storage.nested.assign(tensor.elements.size(), {});
    storage.tensors.clear();
    storage.elements.clear();
    for (size_t i = 0; i < tensor.elements.size(); ++i)
      storage.tensors.push_back(viewOf(tensor.elements[i], storage.nested[i]));
    for (const weir_tensor &element : storage.tensors)
      storage.elements.push_back(&element);
    view.data = storage.elements.data();
    view.bytes = static_cast<int64_t>(storage.elements.size() * sizeof(weir_tensor_ref));
  } else {
    view.data = tensor.bytes.data();
    view.bytes = static_cast<int64_t>(tensor.bytes.size());
  }
  return view;
}

HostTensor weir::tools::copyOf(const weir_tensor &view) {
  HostTensor tensor;
  tensor.dtype = view.dtype;
  tensor.dims.assign(view.dims, view.dims + std::max(view.rank, 0));
  if (view.dtype == WEIR_STRING) {
    auto *strings = static_cast<const weir_string *>(view.data);
    int64_t count = view.bytes / static_cast<int64_t>(sizeof(weir_string));
    for (int64_t i = 0; i < count; ++i)
      tensor.strings.emplace_back(strings[i].data, strings[i].size);
  } else if (view.dtype == WEIR_TENSOR) {
    auto *elements = static_cast<const weir_tensor_ref *>(view.data);
    int64_t count = view.bytes / static_cast<int64_t>(sizeof(weir_tensor_ref));
    for (int64_t i = 0; i < count; ++i)
      tensor.elements.push_back(copyOf(*elements[i]));
  } else if (view.bytes > 0) {
    tensor.bytes.assign(static_cast<const char *>(view.data), view.bytes);
  }
  return tensor;
}
