//===- Npy.cpp - numpy's array files --------------------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Npy.h"

#include "tools/common/Files.h"
#include "tools/common/Zip.h"

#include <algorithm>
#include <charconv>
#include <cstring>

using namespace weir::tools;

namespace {

constexpr std::string_view magic("\x93NUMPY", 6);

struct Descriptor {
  std::string_view text; ///< without the byte order
  int32_t dtype;
};

constexpr Descriptor descriptors[] = {
    {"f4", WEIR_F32}, {"u1", WEIR_U8},  {"i1", WEIR_I8},   {"u2", WEIR_U16},  {"i2", WEIR_I16},
    {"i4", WEIR_I32}, {"i8", WEIR_I64}, {"b1", WEIR_BOOL}, {"f2", WEIR_F16},  {"f8", WEIR_F64},
    {"u4", WEIR_U32}, {"u8", WEIR_U64}, {"c8", WEIR_C64},  {"c16", WEIR_C128}};

/// The archive's name of a type that numpy lacks; "" for the others.
std::string_view foreignName(int32_t dtype) {
  switch (dtype) {
  case WEIR_BF16:
    return "bfloat16";
  case WEIR_F8E4M3FN:
    return "float8_e4m3fn";
  case WEIR_F8E4M3FNUZ:
    return "float8_e4m3fnuz";
  case WEIR_F8E5M2:
    return "float8_e5m2";
  case WEIR_F8E5M2FNUZ:
    return "float8_e5m2fnuz";
  case WEIR_U4:
    return "uint4";
  case WEIR_I4:
    return "int4";
  case WEIR_F4E2M1:
    return "float4_e2m1fn";
  case WEIR_F8E8M0:
    return "float8_e8m0fnu";
  case WEIR_U2:
    return "uint2";
  case WEIR_I2:
    return "int2";
  default:
    return "";
  }
}

/// The value of `'key':` in the header's dictionary, up to the comma or brace
/// that ends it; parentheses and quotes are respected.
bool findValue(std::string_view header, std::string_view key, std::string_view &value) {
  std::string quoted = "'" + std::string(key) + "':";
  size_t start = header.find(quoted);
  if (start == std::string_view::npos)
    return false;
  start += quoted.size();
  while (start < header.size() && header[start] == ' ')
    ++start;
  size_t end = start;
  int depth = 0;
  bool text = false;
  for (; end < header.size(); ++end) {
    char c = header[end];
    if (c == '\'')
      text = !text;
    else if (!text && c == '(')
      ++depth;
    else if (!text && c == ')')
      --depth;
    else if (!text && depth == 0 && (c == ',' || c == '}'))
      break;
  }
  value = header.substr(start, end - start);
  return true;
}

bool parseShape(std::string_view text, std::vector<int64_t> &dims) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return false;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (!item.empty() && item.front() == ' ')
      item.remove_prefix(1);
    if (item.empty())
      continue;
    int64_t dim;
    auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), dim);
    if (error != std::errc() || dim < 0)
      return false;
    dims.push_back(dim);
  }
  return true;
}

void appendUtf8(std::string &out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

/// One element of an S or U array.
std::string readString(std::string_view field, bool wide) {
  if (!wide)
    return std::string(field.substr(0, field.find_last_not_of('\0') + 1));
  std::string out;
  for (size_t i = 0; i + 4 <= field.size(); i += 4) {
    uint32_t c;
    std::memcpy(&c, field.data() + i, 4);
    if (c == 0)
      break;
    appendUtf8(out, c);
  }
  return out;
}

/// Turns column-major elements of `size` bytes into row-major ones.
std::string toRowMajor(std::string_view data, const std::vector<int64_t> &dims, int64_t size) {
  int64_t count = productOf(dims);
  std::string out(data.size(), '\0');
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t column = 0; column < count; ++column) {
    int64_t row = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      row = row * dims[d] + index[d];
    std::memcpy(out.data() + row * size, data.data() + column * size, size);
    for (size_t d = 0; d < dims.size() && ++index[d] == dims[d]; ++d)
      index[d] = 0;
  }
  return out;
}

} // namespace

HostTensor *weir::tools::findTensor(NamedTensors &tensors, std::string_view name) {
  for (auto &[key, tensor] : tensors)
    if (key == name)
      return &tensor;
  return nullptr;
}

bool weir::tools::readNpy(std::string_view bytes, HostTensor &tensor, std::string &error) {
  if (bytes.size() < 12 || !bytes.starts_with(magic)) {
    error = "no .npy file: it does not begin with \\x93NUMPY";
    return false;
  }
  uint32_t headerSize = 0;
  size_t prefix = bytes[6] == 1 ? 10 : 12;
  std::memcpy(&headerSize, bytes.data() + 8, prefix - 8);
  if (bytes.size() - prefix < headerSize) {
    error = "broken .npy file: its header is cut off";
    return false;
  }
  std::string_view header = bytes.substr(prefix, headerSize), descr, order, shape;
  if (!findValue(header, "descr", descr) || !findValue(header, "fortran_order", order) ||
      !findValue(header, "shape", shape) || descr.size() < 4 || descr.front() != '\'') {
    error = "broken .npy file: its header lacks descr, fortran_order or shape";
    return false;
  }
  descr = descr.substr(1, descr.find('\'', 1) - 1);
  char byteOrder = descr.front();
  std::string_view kind = descr.substr(1);
  tensor = HostTensor();
  int64_t stringSize = 0;
  for (const Descriptor &row : descriptors)
    if (row.text == kind)
      tensor.dtype = row.dtype;
  if (!kind.empty() && (kind.front() == 'S' || kind.front() == 'U')) {
    auto [end, bad] = std::from_chars(kind.data() + 1, kind.data() + kind.size(), stringSize);
    if (bad == std::errc() && stringSize >= 0 && stringSize < (1 << 30))
      tensor.dtype = WEIR_STRING;
    stringSize *= kind.front() == 'U' ? 4 : 1;
  }
  if (tensor.dtype == WEIR_INVALID || byteOrder == '>') {
    error = "expected little-endian numbers, bool, S or U, got element type '" +
            std::string(descr) + "'";
    return false;
  }
  if (!parseShape(shape, tensor.dims) || tensor.count() < 0) {
    error = "broken .npy file: shape " + std::string(shape);
    return false;
  }
  std::string_view data = bytes.substr(prefix + headerSize);
  int64_t count = tensor.count();
  int64_t size = tensor.dtype == WEIR_STRING ? stringSize : elementSize(tensor.dtype);
  if (size != 0 && (count > INT64_MAX / size || static_cast<int64_t>(data.size()) < count * size)) {
    error = "broken .npy file: " + std::to_string(data.size()) + " bytes of data; " +
            tensor.typeName() + " needs " + std::to_string(size) + " an element";
    return false;
  }
  if (size == 0 && count > (1 << 28)) {
    error = "broken .npy file: " + std::to_string(count) + " empty strings";
    return false;
  }
  std::string reordered;
  data = data.substr(0, count * size);
  if (order.starts_with("True") && tensor.dims.size() > 1) {
    reordered = toRowMajor(data, tensor.dims, size);
    data = reordered;
  }
  if (tensor.dtype == WEIR_STRING) {
    bool wide = kind.front() == 'U';
    for (int64_t i = 0; i < count; ++i)
      tensor.strings.push_back(readString(data.substr(i * size, size), wide));
  } else {
    tensor.bytes = data;
  }
  return true;
}

std::string weir::tools::writeNpy(const HostTensor &tensor) {
  std::string descr;
  int64_t width = 0;
  if (tensor.dtype == WEIR_STRING) {
    for (const std::string &text : tensor.strings)
      width = std::max(width, static_cast<int64_t>(text.size()));
    width = std::max<int64_t>(width, 1); // numpy has no S0
    descr = "|S" + std::to_string(width);
  } else {
    int64_t size = elementSize(tensor.dtype);
    for (const Descriptor &row : descriptors)
      if (row.dtype == tensor.dtype)
        descr = row.text;
    if (descr.empty())
      descr = "u" + std::to_string(size);
    descr.insert(0, size == 1 ? "|" : "<");
  }
  std::string shape = "(";
  for (size_t d = 0; d < tensor.dims.size(); ++d)
    shape += (d ? ", " : "") + std::to_string(tensor.dims[d]);
  shape += tensor.dims.size() == 1 ? ",)" : ")";
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  // Data begins at a multiple of 64 bytes; the header ends in a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(magic);
  out += '\1';
  out += '\0';
  uint16_t length = static_cast<uint16_t>(header.size());
  out.append(reinterpret_cast<const char *>(&length), 2);
  out += header;
  if (tensor.dtype == WEIR_STRING)
    for (const std::string &text : tensor.strings)
      out += text + std::string(width - text.size(), '\0');
  else
    out += tensor.bytes;
  return out;
}

NamedTensors weir::tools::arraysOf(const std::string &name, const HostTensor &tensor) {
  if (tensor.dtype != WEIR_TENSOR)
    return {{name, tensor}};
  NamedTensors arrays;
  for (size_t i = 0; i < tensor.elements.size(); ++i)
    for (auto &array : arraysOf(name + "[" + std::to_string(i) + "]", tensor.elements[i]))
      arrays.push_back(std::move(array));
  return arrays;
}

bool weir::tools::sequenceOf(NamedTensors &tensors, const std::string &name, HostTensor &sequence) {
  sequence = HostTensor();
  sequence.dtype = WEIR_TENSOR;
  if (std::none_of(tensors.begin(), tensors.end(),
                   [&](const auto &entry) { return entry.first.starts_with(name + "["); }))
    return false;
  for (size_t i = 0;; ++i) {
    std::string own = name + "[" + std::to_string(i) + "]";
    HostTensor element;
    if (HostTensor *array = findTensor(tensors, own))
      element = *array;
    else if (!sequenceOf(tensors, own, element))
      break;
    sequence.elements.push_back(std::move(element));
  }
  sequence.dims = {static_cast<int64_t>(sequence.elements.size())};
  return !sequence.elements.empty();
}

bool weir::tools::readNpyFile(const std::string &path, HostTensor &tensor, std::string &error) {
  std::string bytes;
  return readFile(path, bytes, error) && readNpy(bytes, tensor, error);
}

bool weir::tools::writeNpyFile(const std::string &path, const HostTensor &tensor,
                               std::string &error) {
  return writeFile(path, writeNpy(tensor), error);
}

bool weir::tools::readNpzFile(const std::string &path, NamedTensors &tensors, std::string &error) {
  std::string bytes;
  ZipEntries entries;
  if (!readFile(path, bytes, error) || !readZip(bytes, entries, error))
    return false;
  for (auto &[name, contents] : entries) {
    std::string key = name;
    if (key.ends_with(".npy"))
      key.resize(key.size() - 4);
    HostTensor tensor;
    if (!readNpy(contents, tensor, error)) {
      error = "\"" + key + "\": " + error;
      return false;
    }
    size_t bar = key.rfind('|');
    if (bar != std::string::npos) {
      int32_t dtype = dtypeOfName(std::string_view(key).substr(bar + 1));
      if (dtype != WEIR_INVALID && elementSize(dtype) == elementSize(tensor.dtype)) {
        tensor.dtype = dtype;
        key.resize(bar);
      }
    }
    tensors.emplace_back(std::move(key), std::move(tensor));
  }
  return true;
}

bool weir::tools::writeNpzFile(const std::string &path, const NamedTensors &tensors,
                               std::string &error) {
  ZipEntries entries;
  for (const auto &[name, tensor] : tensors) {
    std::string key = name;
    std::string_view foreign = foreignName(tensor.dtype);
    if (!foreign.empty())
      key += "|" + std::string(foreign);
    entries.emplace_back(key + ".npy", writeNpy(tensor));
  }
  std::string bytes = writeZip(entries);
  if (bytes.empty()) {
    error = path + ": the arrays cannot be packed into an archive";
    return false;
  }
  return writeFile(path, bytes, error);
}
