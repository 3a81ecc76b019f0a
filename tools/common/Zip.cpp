//===- Zip.cpp - archives of named byte strings ---------------------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/common/Zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <zlib.h>

using namespace weir::tools;

namespace {

constexpr uint32_t localMagic = 0x04034b50, centralMagic = 0x02014b50, endMagic = 0x06054b50,
                   end64Magic = 0x06064b50, locator64Magic = 0x07064b50;
constexpr uint16_t stored = 0, deflated = 8;
constexpr uint32_t inZip64 = 0xffffffff;
/// 1 January 1980, the earliest date that the format can say.
constexpr uint16_t fixedDate = 0x21;

/// Little-endian numbers out of a byte string; zero beyond its end, which the
/// callers notice by the sizes that they check.
struct Bytes {
  std::string_view data;
  template <typename T> T at(uint64_t offset) const {
    T value = 0;
    if (offset <= data.size() && data.size() - offset >= sizeof(T))
      std::memcpy(&value, data.data() + offset, sizeof(T));
    return value;
  }
  bool holds(uint64_t offset, uint64_t length) const {
    return offset <= data.size() && data.size() - offset >= length;
  }
};

struct CentralEntry {
  uint16_t method = 0;
  uint32_t checksum = 0;
  uint64_t packed = 0, size = 0, offset = 0;
  std::string name;
};

/// ZIP64 extra field: 64-bit values for those fields that say 0xffffffff.
void readZip64Extra(std::string_view extra, CentralEntry &entry) {
  Bytes bytes{extra};
  for (uint64_t pos = 0; pos + 4 <= extra.size();) {
    uint16_t id = bytes.at<uint16_t>(pos), length = bytes.at<uint16_t>(pos + 2);
    pos += 4;
    if (id == 1) {
      uint64_t field = pos;
      for (uint64_t *value : {&entry.size, &entry.packed, &entry.offset})
        if (*value == inZip64) {
          *value = bytes.at<uint64_t>(field);
          field += 8;
        }
    }
    pos += length;
  }
}

bool inflateRaw(std::string_view packed, uint64_t size, std::string &out) {
  // Deflate cannot shrink by more than 1032 : 1; a size beyond that lies.
  if (size / 1032 > packed.size() + 1)
    return false;
  out.resize(size);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  uint64_t inLeft = packed.size(), outLeft = size;
  int result = Z_OK;
  do { // zlib counts in 32 bits
    stream.avail_in = static_cast<uInt>(std::min<uint64_t>(inLeft, 1u << 30));
    stream.avail_out = static_cast<uInt>(std::min<uint64_t>(outLeft, 1u << 30));
    uInt in = stream.avail_in, outBefore = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    inLeft -= in - stream.avail_in;
    outLeft -= outBefore - stream.avail_out;
    if (in == stream.avail_in && outBefore == stream.avail_out)
      break;
  } while (result == Z_OK);
  inflateEnd(&stream);
  return result == Z_STREAM_END && outLeft == 0;
}

std::string deflateRaw(std::string_view data) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return {};
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

uint32_t checksumOf(std::string_view data) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size()));
}

template <typename T> void put(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

/// The fields that local and central headers share, from `version needed` to
/// the length of the extra field.
void putCommon(std::string &out, const CentralEntry &entry, bool large) {
  put<uint16_t>(out, large ? 45 : 20);
  put<uint16_t>(out, 0); // flags
  put<uint16_t>(out, entry.method);
  put<uint16_t>(out, 0); // time
  put<uint16_t>(out, fixedDate);
  put<uint32_t>(out, entry.checksum);
  put<uint32_t>(out, large ? inZip64 : static_cast<uint32_t>(entry.packed));
  put<uint32_t>(out, large ? inZip64 : static_cast<uint32_t>(entry.size));
  put<uint16_t>(out, static_cast<uint16_t>(entry.name.size()));
}

} // namespace

bool weir::tools::readZip(std::string_view archive, ZipEntries &entries, std::string &error) {
  Bytes bytes{archive};
  // The end record is 22 bytes and a comment of at most 65,535.
  constexpr uint64_t endSize = 22;
  if (archive.size() < endSize) {
    error = "no ZIP archive: too short";
    return false;
  }
  uint64_t end = archive.size() - endSize;
  uint64_t lowest = end > 65535 ? end - 65535 : 0;
  while (bytes.at<uint32_t>(end) != endMagic && end > lowest)
    --end;
  if (bytes.at<uint32_t>(end) != endMagic) {
    error = "no ZIP archive: it has no end record";
    return false;
  }
  uint64_t count = bytes.at<uint16_t>(end + 10);
  uint64_t pos = bytes.at<uint32_t>(end + 16);
  if (end >= 20 && bytes.at<uint32_t>(end - 20) == locator64Magic) {
    uint64_t end64 = bytes.at<uint64_t>(end - 12);
    if (bytes.at<uint32_t>(end64) == end64Magic) {
      count = bytes.at<uint64_t>(end64 + 32);
      pos = bytes.at<uint64_t>(end64 + 48);
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.at<uint32_t>(pos) != centralMagic || !bytes.holds(pos, 46)) {
      error = "broken ZIP archive: its directory ends early";
      return false;
    }
    CentralEntry entry;
    entry.method = bytes.at<uint16_t>(pos + 10);
    entry.checksum = bytes.at<uint32_t>(pos + 16);
    entry.packed = bytes.at<uint32_t>(pos + 20);
    entry.size = bytes.at<uint32_t>(pos + 24);
    uint64_t nameLength = bytes.at<uint16_t>(pos + 28), extraLength = bytes.at<uint16_t>(pos + 30),
             commentLength = bytes.at<uint16_t>(pos + 32);
    entry.offset = bytes.at<uint32_t>(pos + 42);
    if (!bytes.holds(pos + 46, nameLength + extraLength)) {
      error = "broken ZIP archive: its directory ends early";
      return false;
    }
    entry.name = archive.substr(pos + 46, nameLength);
    readZip64Extra(archive.substr(pos + 46 + nameLength, extraLength), entry);
    pos += 46 + nameLength + extraLength + commentLength;

    uint64_t local = entry.offset;
    if (bytes.at<uint32_t>(local) != localMagic) {
      error = "broken ZIP archive: \"" + entry.name +
              "\" is not where the "
              "directory says";
      return false;
    }
    uint64_t data = local + 30 + bytes.at<uint16_t>(local + 26) + bytes.at<uint16_t>(local + 28);
    if (!bytes.holds(data, entry.packed)) {
      error = "broken ZIP archive: \"" + entry.name + "\" is cut off";
      return false;
    }
    std::string_view packed = archive.substr(data, entry.packed);
    std::string contents;
    bool good = false;
    if (entry.method == stored) {
      contents = packed;
      good = entry.size == entry.packed;
    } else if (entry.method == deflated) {
      good = inflateRaw(packed, entry.size, contents);
    } else {
      error = "\"" + entry.name + "\" is compressed by method " + std::to_string(entry.method) +
              "; possible are 0 (stored) and 8 (deflate)";
      return false;
    }
    if (!good || checksumOf(contents) != entry.checksum) {
      error = "broken ZIP archive: the contents of \"" + entry.name +
              "\" do not match their size and checksum";
      return false;
    }
    entries.emplace_back(std::move(entry.name), std::move(contents));
  }
  return true;
}

std::string weir::tools::writeZip(const ZipEntries &entries) {
  std::string out, directory;
  for (const auto &[name, contents] : entries) {
    CentralEntry entry;
    entry.name = name;
    entry.checksum = checksumOf(contents);
    entry.size = contents.size();
    entry.offset = out.size();
    bool large = contents.size() >= inZip64 || entry.offset >= inZip64;
    // zlib's one-shot form counts in 32 bits.
    std::string packed;
    if (!large && contents.size() < (1u << 31))
      packed = deflateRaw(contents);
    bool smaller = !packed.empty() && packed.size() < contents.size();
    std::string_view data = smaller ? std::string_view(packed) : contents;
    entry.method = smaller ? deflated : stored;
    entry.packed = data.size();

    put(out, localMagic);
    putCommon(out, entry, large);
    put<uint16_t>(out, large ? 20 : 0);
    out += name;
    if (large) {
      put<uint16_t>(out, 1);
      put<uint16_t>(out, 16);
      put<uint64_t>(out, entry.size);
      put<uint64_t>(out, entry.packed);
    }
    out += data;

    put(directory, centralMagic);
    put<uint16_t>(directory, large ? 45 : 20); // made by
    putCommon(directory, entry, large);
    put<uint16_t>(directory, large ? 28 : 0);
    put<uint16_t>(directory, 0); // comment
    put<uint16_t>(directory, 0); // disk
    put<uint16_t>(directory, 0); // internal attributes
    put<uint32_t>(directory, 0); // external attributes
    put<uint32_t>(directory, large ? inZip64 : static_cast<uint32_t>(entry.offset));
    directory += name;
    if (large) {
      put<uint16_t>(directory, 1);
      put<uint16_t>(directory, 24);
      put<uint64_t>(directory, entry.size);
      put<uint64_t>(directory, entry.packed);
      put<uint64_t>(directory, entry.offset);
    }
  }
  uint64_t start = out.size(), count = entries.size();
  out += directory;
  bool large = start >= inZip64 || count >= 0xffff;
  if (large) {
    uint64_t end64 = out.size();
    put(out, end64Magic);
    put<uint64_t>(out, 44); // of what follows
    put<uint16_t>(out, 45);
    put<uint16_t>(out, 45);
    put<uint32_t>(out, 0);
    put<uint32_t>(out, 0);
    put<uint64_t>(out, count);
    put<uint64_t>(out, count);
    put<uint64_t>(out, directory.size());
    put<uint64_t>(out, start);
    put(out, locator64Magic);
    put<uint32_t>(out, 0);
    put<uint64_t>(out, end64);
    put<uint32_t>(out, 1);
  }
  put(out, endMagic);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, large ? 0xffff : static_cast<uint16_t>(count));
  put<uint16_t>(out, large ? 0xffff : static_cast<uint16_t>(count));
  put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(out, large ? inZip64 : static_cast<uint32_t>(start));
  put<uint16_t>(out, 0);
  return out;
}
