//===- file_source.cpp - records and lines of files -----------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/crc32c.h"
#include "datasets/state.h"
#include "input/input_stream.h"
#include "kernels/string_support.h"
#include "support/files.h"

#include <string.h>
#include <sys/stat.h>

namespace weir::rt {

namespace {

/// Bytes that grow, without a run to take memory from.
struct Bytes {
  uint8_t *data = nullptr;
  int64_t size = 0, capacity = 0;
  ~Bytes() { free(data); }
  bool reserve(int64_t wanted) {
    if (wanted <= capacity)
      return true;
    int64_t more = capacity * 2 > wanted ? capacity * 2 : wanted;
    auto *grown = static_cast<uint8_t *>(realloc(data, size_t(more)));
    if (!grown)
      return false;
    data = grown;
    capacity = more;
    return true;
  }
  bool append(const uint8_t *bytes, int64_t count) {
    if (!reserve(size + count + 1))
      return false;
    if (count > 0)
      memcpy(data + size, bytes, size_t(count));
    size += count;
    return true;
  }
};

struct Files : Source {
  InputStream stream;
  Encoding encoding = Encoding::None;
  char *path = nullptr; ///< of the file that is open
  int64_t place = 0;    ///< of the next file's name
  Bytes bytes;
  Bytes tail; ///< a file of records of one size: what lies behind those read so far

  Files() { memset(static_cast<void *>(&stream), 0, sizeof(stream)); }
  ~Files() { closeFile(); }
  bool ready() { return true; }

  void closeFile() {
    stream.close();
    free(path);
    path = nullptr;
    tail.size = 0;
  }

  /// Why the stream has ended too early.
  Next failStream(Failure &failure) {
    switch (stream.end()) {
    case InputStream::End::Damage:
      failure.fail(WEIR_DATA_LOSS) << "inflate() failed with error -3: " << stream.damage();
      break;
    case InputStream::End::System: {
      char buffer[128];
      failure.fail(codeOfErrno(stream.error()))
          << path << "; " << strerror_r(stream.error(), buffer, sizeof(buffer));
      break;
    }
    default:
      failure.noMemory();
    }
    return Next::Failed;
  }

  /// Opens the next file. End: there is none.
  Next openNext(Failure &failure) {
    const weir_tensor &names = dataset->parameters->components[0];
    if (place >= elementCountOf(names))
      return Next::End;
    const weir_string &name = stringsOf(names)[place];
    closeFile();
    if (!(path = strndup(name.data, size_t(name.size))))
      return failure.noMemory(), Next::Failed;
    int64_t offset = offsetOf(place);
    // The next attempt finds the same file.
    if (stream.open(path, encoding) != WEIR_OK) {
      Next failed = failStream(failure);
      closeFile();
      return failed;
    }
    if (dataset->kind == WEIR_DATASET_FIXED && !isWhole(failure)) {
      closeFile();
      return Next::Failed;
    }
    ++place;
    int64_t skipped = dataset->kind == WEIR_DATASET_FIXED ? dataset->number(1) : offset;
    if (skipped > 0 && stream.read(nullptr, skipped) < skipped &&
        stream.end() != InputStream::End::File)
      return failStream(failure);
    return Next::Element;
  }

  /// Whether a plain file holds whole records between header and footer.
  bool isWhole(Failure &failure) {
    int64_t header = dataset->number(1), record = dataset->number(2), footer = dataset->number(3);
    struct stat about;
    if (encoding != Encoding::None || stat(path, &about) != 0)
      return true;
    int64_t body = about.st_size - header - footer;
    if (body >= 0 && body % record == 0)
      return true;
    failure.fail(WEIR_INVALID_ARGUMENT)
        << "Excluding the header (" << header << " bytes) and footer (" << footer
        << " bytes), input file \"" << path << "\" has body length " << body
        << " bytes, which is not an exact multiple of the record length (" << record << " bytes).";
    return false;
  }

  int64_t offsetOf(int64_t file) const {
    if (dataset->kind != WEIR_DATASET_RECORDS || dataset->parameters->count < 3)
      return 0;
    const weir_tensor &offsets = dataset->parameters->components[2];
    return file < elementCountOf(offsets) ? integerAt(offsets, file) : 0;
  }

  Next readLine(Failure &failure) {
    bool isFound = false;
    auto add = [&](const uint8_t *from, int64_t size) { return bytes.append(from, size); };
    if (!stream.readLine(add, &isFound))
      return failStream(failure);
    bool isLine = isFound || bytes.size > 0;
    if (bytes.size > 0 && bytes.data[bytes.size - 1] == '\r')
      --bytes.size;
    return isLine ? Next::Element : Next::End;
  }

  /// A record is one where the footer still lies behind it.
  Next readFixed(Failure &failure) {
    int64_t record = dataset->number(2), wanted = record + dataset->number(3);
    if (!tail.reserve(wanted) || !bytes.reserve(record))
      return failure.noMemory(), Next::Failed;
    tail.size += stream.read(tail.data + tail.size, wanted - tail.size);
    if (tail.size < wanted) {
      if (stream.end() != InputStream::End::File)
        return failStream(failure);
      int64_t left = tail.size - dataset->number(3);
      if (left == 0 || tail.size == 0)
        return Next::End;
      failure.fail(WEIR_INVALID_ARGUMENT)
          << "Excess file size: " << path << " does not hold whole records of " << record
          << " bytes";
      closeFile();
      return Next::Failed;
    }
    (void)bytes.append(tail.data, record);
    tail.size -= record;
    memmove(tail.data, tail.data + record, size_t(tail.size));
    return Next::Element;
  }

  Next failRecord(const char *what, int64_t at, Failure &failure) {
    failure.fail(WEIR_DATA_LOSS) << what << " record at " << at;
    closeFile();
    return Next::Failed;
  }

  Next readRecord(Failure &failure) {
    constexpr int64_t headerSize = 12, footerSize = 4, piece = 1 << 16;
    int64_t offset = stream.position();
    uint8_t header[headerSize];
    int64_t got = stream.read(header, headerSize);
    if (got < headerSize) {
      if (stream.end() != InputStream::End::File)
        return failStream(failure);
      // One that is cut within its size is taken for the end.
      return Next::End;
    }
    uint64_t size;
    uint32_t checksum;
    memcpy(&size, header, sizeof(size));
    memcpy(&checksum, header + sizeof(size), sizeof(checksum));
    if (checksum != maskCrc(crc32c(header, sizeof(size))) || size > uint64_t(INT64_MAX / 4))
      return failRecord("corrupted", offset, failure);
    // What a file claims asks for no memory before the bytes are there.
    int64_t wanted = int64_t(size) + footerSize;
    while (bytes.size < wanted) {
      int64_t part = wanted - bytes.size < piece ? wanted - bytes.size : piece;
      if (!bytes.reserve(bytes.size + part))
        return failure.noMemory(), Next::Failed;
      int64_t read = stream.read(bytes.data + bytes.size, part);
      bytes.size += read;
      if (read == part)
        continue;
      if (stream.end() != InputStream::End::File)
        return failStream(failure);
      return failRecord("truncated", offset, failure);
    }
    bytes.size = int64_t(size);
    memcpy(&checksum, bytes.data + size, sizeof(checksum));
    if (checksum != maskCrc(crc32c(bytes.data, int64_t(size))))
      return failRecord("corrupted", offset + headerSize, failure);
    return Next::Element;
  }

  void keep(StateWriter &out) {
    out.number(place);
    out.number(path ? stream.position() : -1);
    out.text({reinterpret_cast<const char *>(tail.data), path ? tail.size : 0});
  }
  bool resume(StateReader &in, Failure &failure) {
    place = in.number();
    int64_t position = in.number();
    weir_string behind = in.text();
    if (place < 0 || position < -1 || (position >= 0 && place == 0))
      in.fail();
    if (in.failed() || position < 0)
      return !in.failed();
    --place;
    Next opened = openNext(failure);
    if (opened == Next::End)
      in.fail();
    if (opened != Next::Element)
      return false;
    int64_t skipped = position - stream.position();
    if (skipped < 0)
      return in.fail(), false;
    if (stream.read(nullptr, skipped) < skipped) {
      if (stream.end() != InputStream::End::File)
        return failStream(failure), false;
      failure.fail(WEIR_DATA_LOSS)
          << path << " ends before byte " << position << ", where a checkpoint was at";
      return false;
    }
    if (tail.append(reinterpret_cast<const uint8_t *>(behind.data), behind.size))
      return true;
    return failure.noMemory(), false;
  }

  Next give(Element **element, Failure &failure) {
    for (;;) {
      if (!path)
        if (Next opened = openNext(failure); opened != Next::Element)
          return opened;
      bytes.size = 0;
      Next got = dataset->kind == WEIR_DATASET_LINES   ? readLine(failure)
                 : dataset->kind == WEIR_DATASET_FIXED ? readFixed(failure)
                                                       : readRecord(failure);
      if (got == Next::Failed)
        return got;
      if (got == Next::End) {
        closeFile();
        continue;
      }
      weir_string text = {reinterpret_cast<const char *>(bytes.data), bytes.size};
      weir_tensor one = {};
      one.data = &text;
      one.dtype = WEIR_STRING;
      one.bytes = int64_t(sizeof(text));
      *element = copyToElement(&one, 1);
      if (*element)
        return Next::Element;
      return failure.noMemory(), Next::Failed;
    }
  }
};

} // namespace

Source *makeFileSource(Pipeline &pipeline, Dataset &dataset, Failure &failure) {
  auto *files = newSource<Files>(pipeline, dataset, failure);
  if (!files)
    return nullptr;
  weir_string compression = dataset.text(dataset.kind == WEIR_DATASET_FIXED ? 4 : 1);
  files->encoding = equalStrings(compression, stringOf("ZLIB"))   ? Encoding::Zlib
                    : equalStrings(compression, stringOf("GZIP")) ? Encoding::Gzip
                                                                  : Encoding::None;
  if (files->encoding != Encoding::None || compression.size == 0)
    return files;
  failure.fail(WEIR_UNIMPLEMENTED) << "found compression "
                                   << "of another kind than ZLIB and GZIP";
  destroySource(files);
  return nullptr;
}

} // namespace weir::rt
