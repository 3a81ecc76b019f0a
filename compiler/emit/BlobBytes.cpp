//===- BlobBytes.cpp - constants as buffers hold them ---------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/emit/BlobBytes.h"

#include "dialects/weir/Arranged.h"
#include "dialects/weir/Scaled.h"
#include "dialects/weir/WinogradFilter.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace weir;

/// Bytes converted at a time.
static constexpr size_t pieceBytes = 1 << 20;

static llvm::Error malformed(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

llvm::Expected<int64_t> weir::blobBytes(Attribute value) {
  auto typed = dyn_cast_or_null<TypedAttr>(value);
  auto type = typed ? dyn_cast<RankedTensorType>(typed.getType()) : nullptr;
  if (!type || !type.hasStaticShape())
    return malformed("a constant has no fixed shape");
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value)) {
    int64_t bytes = strings.getNumElements() * int64_t(sizeof(int64_t));
    for (StringRef element : strings.getValues<StringRef>())
      bytes += element.size();
    return bytes;
  }
  int64_t width = elementBytes(type.getElementType());
  if (width == 0 || isa<StringType>(type.getElementType())) {
    std::string text;
    llvm::raw_string_ostream(text) << type.getElementType();
    return malformed("constants of type " + text + " have no bytes");
  }
  return type.getNumElements() * width;
}

namespace {

/// Collects converted elements and hands them on a piece at a time.
class Pieces {
public:
  Pieces(int64_t offset, BlobSink sink) : offset(offset), sink(sink) { buffer.reserve(pieceBytes); }

  llvm::Error append(llvm::ArrayRef<char> element) {
    if (buffer.size() + element.size() > pieceBytes)
      if (llvm::Error error = flush())
        return error;
    buffer.append(element.begin(), element.end());
    return llvm::Error::success();
  }

  llvm::Error flush() {
    if (buffer.empty())
      return llvm::Error::success();
    llvm::Error error = sink(offset, buffer);
    offset += buffer.size();
    buffer.clear();
    return error;
  }

private:
  int64_t offset;
  BlobSink sink;
  llvm::SmallVector<char, 0> buffer;
};

} // namespace

/// An element of at most one byte: integers in the low bits, signed ones extended; floats by their
/// bit pattern.
static char smallElement(Type type, const llvm::APInt &bits) {
  auto integer = dyn_cast<IntegerType>(type);
  bool isSigned = integer && integer.getWidth() > 1 && !integer.isUnsigned();
  return isSigned ? char(bits.getSExtValue()) : char(bits.getZExtValue());
}

static llvm::Error writeSmallElements(DenseElementsAttr dense, Pieces &pieces) {
  Type type = dense.getElementType();
  if (isa<IntegerType>(type)) {
    for (const llvm::APInt &bits : dense.getValues<llvm::APInt>())
      if (llvm::Error error = pieces.append(smallElement(type, bits)))
        return error;
  } else {
    for (const llvm::APFloat &number : dense.getValues<llvm::APFloat>())
      if (llvm::Error error = pieces.append(smallElement(type, number.bitcastToAPInt())))
        return error;
  }
  return pieces.flush();
}

static llvm::Error writeDense(DenseElementsAttr dense, int64_t offset, BlobSink sink) {
  Type type = dense.getElementType();
  int64_t width = elementBytes(type);
  llvm::ArrayRef<char> raw = dense.getRawData();
  int64_t count = dense.getNumElements();

  // Booleans and sub-byte types have a storage of their own in attributes.
  bool isSmall = type.isIntOrFloat() && type.getIntOrFloatBitWidth() < 8;
  if (!dense.isSplat()) {
    if (!isSmall)
      return count == 0 ? llvm::Error::success() : sink(offset, raw);
    Pieces pieces(offset, sink);
    return writeSmallElements(dense, pieces);
  }

  llvm::SmallVector<char, 16> element(raw.begin(), raw.end());
  if (isSmall) {
    llvm::APInt bits = isa<IntegerType>(type)
                           ? dense.getSplatValue<llvm::APInt>()
                           : dense.getSplatValue<llvm::APFloat>().bitcastToAPInt();
    element.assign(1, smallElement(type, bits));
  }
  assert(int64_t(element.size()) == width && "raw data is one element");
  (void)width;
  Pieces pieces(offset, sink);
  for (int64_t i = 0; i < count; ++i)
    if (llvm::Error error = pieces.append(element))
      return error;
  return pieces.flush();
}

/// The bytes that a constant is made of, not scaled yet.
static llvm::Expected<llvm::ArrayRef<char>> bytesOf(TypedAttr value, BlobResolver resolve) {
  TypedAttr root = rootOf(value);
  if (auto scaled = dyn_cast<ScaledAttr>(root))
    root = scaled.getSource();
  if (auto blob = dyn_cast<weir::BlobAttr>(root))
    return resolve(blob);
  return cast<DenseElementsAttr>(root).getRawData();
}

/// A constant that `make` makes of the bytes of its source, a piece at a time.
static llvm::Error
writeMade(TypedAttr value, int64_t offset, BlobResolver resolve, BlobSink sink,
          llvm::function_ref<llvm::Error(llvm::ArrayRef<char>,
                                         llvm::function_ref<llvm::Error(llvm::ArrayRef<char>)>)>
              make) {
  llvm::Expected<llvm::ArrayRef<char>> bytes = bytesOf(value, resolve);
  if (!bytes)
    return bytes.takeError();
  return make(*bytes, [&](llvm::ArrayRef<char> piece) {
    int64_t at = offset;
    offset += piece.size();
    return piece.empty() ? llvm::Error::success() : sink(at, piece);
  });
}

static llvm::Error writeStrings(DenseStringElementsAttr strings, int64_t offset, BlobSink sink) {
  Pieces pieces(offset, sink);
  for (StringRef element : strings.getValues<StringRef>()) {
    char size[sizeof(int64_t)];
    llvm::support::endian::write64le(size, element.size());
    if (llvm::Error error = pieces.append(size))
      return error;
  }
  for (StringRef element : strings.getValues<StringRef>())
    if (llvm::Error error = pieces.append({element.data(), element.size()}))
      return error;
  return pieces.flush();
}

/// `room`: where what is scaled lies until it is in order; the next one takes the same pages.
static llvm::Error writeBlob(Attribute value, int64_t offset, BlobResolver resolve, BlobSink sink,
                             llvm::SmallVectorImpl<char> &room) {
  llvm::Expected<int64_t> size = blobBytes(value);
  if (!size)
    return size.takeError();
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value))
    return writeStrings(strings, offset, sink);
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return writeDense(dense, offset, sink);
  if (auto arranged = dyn_cast<ArrangedAttr>(value))
    return writeMade(arranged, offset, resolve, sink, [&](auto bytes, auto pieces) {
      auto scaled = scaledBytes(arranged.getSource(), bytes, room);
      return scaled ? arrangeBytes(arranged, *scaled, pieces) : scaled.takeError();
    });
  if (auto filter = dyn_cast<WinogradAttr>(value))
    return writeMade(filter, offset, resolve, sink, [&](auto bytes, auto pieces) {
      return transformBytes(filter, bytes, pieces);
    });
  if (auto scaled = dyn_cast<ScaledAttr>(value))
    return writeMade(scaled, offset, resolve, sink,
                     [&](auto bytes, auto pieces) { return scaleBytes(scaled, bytes, pieces); });
  auto blob = dyn_cast<weir::BlobAttr>(value);
  if (!blob)
    return malformed("a constant is neither dense nor a blob");
  llvm::Expected<llvm::ArrayRef<char>> bytes = resolve(blob);
  if (!bytes)
    return bytes.takeError();
  if (int64_t(bytes->size()) != *size)
    return malformed("a constant of " + llvm::Twine(*size) + " bytes has " +
                     llvm::Twine(bytes->size()) + " in " + blob.getSource());
  return bytes->empty() ? llvm::Error::success() : sink(offset, *bytes);
}

llvm::Error weir::writeBlob(Attribute value, int64_t offset, BlobResolver resolve, BlobSink sink) {
  llvm::SmallVector<char, 0> room;
  return ::writeBlob(value, offset, resolve, sink, room);
}

llvm::Error weir::writeBlobs(const Program &program, BlobResolver resolve, BlobSink sink) {
  llvm::SmallVector<const BlobInfo *> order;
  for (const BlobInfo &blob : program.blobs)
    order.push_back(&blob);
  llvm::sort(order, [](const BlobInfo *a, const BlobInfo *b) {
    return std::pair(a->offset, a) < std::pair(b->offset, b);
  });
  int64_t end = 0;
  llvm::SmallVector<char, 0> room;
  for (const BlobInfo *blob : order) {
    if (blob->offset < end || blob->offset + blob->bytes > program.blobBytes)
      return malformed("constants overlap, or lie outside of their section");
    // Each write is bounded by what was planned, whatever the attribute says.
    llvm::Expected<int64_t> size = blobBytes(blob->value);
    if (!size)
      return size.takeError();
    if (*size != blob->bytes)
      return malformed("a constant of " + llvm::Twine(*size) + " bytes was planned with " +
                       llvm::Twine(blob->bytes));
    if (llvm::Error error = ::writeBlob(blob->value, blob->offset, resolve, sink, room))
      return error;
    end = blob->offset + blob->bytes;
  }
  return llvm::Error::success();
}
