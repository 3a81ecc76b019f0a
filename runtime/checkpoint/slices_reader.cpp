//===- slices_reader.cpp - reading checkpoints of format V1 ---------------===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "checkpoint/slices_file.h"
#include "session/status.h"
#include "support/wire_format.h"

namespace weir::rt {

static int32_t fail(weir_status *status, int32_t code, const char *path, const char *what) {
  StatusText(status, code) << path << ": " << what;
  return code;
}

int32_t SlicesReader::open(const weir_string &pattern, weir_status *status) {
  if (int32_t code = files.add(pattern, status))
    return code;
  files.sort();
  if (files.size() == 0) {
    StatusText out(status, WEIR_NOT_FOUND);
    out << "found no checkpoint ";
    out.quoted(pattern.data, pattern.size) << ", of any format";
    return WEIR_NOT_FOUND;
  }
  for (int64_t i = 0; i < files.size(); ++i)
    if (int32_t code = addFile(i, status))
      return code;
  return WEIR_OK;
}

/// The message that field 1 or 2 of a SavedTensorSlices is.
static bool partOf(const weir_string &message, uint32_t field, weir_string *part) {
  MessageReader fields(message);
  bool isThere = false;
  while (fields.next())
    if (fields.is(field, MessageReader::bytes)) {
      *part = fields.contents;
      isThere = true;
    }
  return isThere && !fields.failed();
}

int32_t SlicesReader::addFile(int64_t number, weir_status *status) {
  InputFile file;
  TableReader table;
  // TensorFlow's code for a file that is no table.
  weir_status opened = WEIR_STATUS_INIT;
  if (file.open(files[number], &opened))
    return fail(status, WEIR_DATA_LOSS, files[number], opened.message);
  if (int32_t code = table.open(file, status))
    return code;
  HeapText value;
  weir_string meta;
  weir_status inner = WEIR_STATUS_INIT;
  int32_t code = table.find({"", 0}, value, &inner);
  if (code || !partOf(value.view(), 1, &meta))
    return fail(status, WEIR_INTERNAL, files[number],
                code && *inner.message ? inner.message
                                       : "it does not begin with what a checkpoint has");
  MessageReader tensors(meta);
  while (tensors.next()) {
    if (!tensors.is(1, MessageReader::bytes))
      continue;
    if (int32_t failed = addTensor(tensors.contents, number, status))
      return failed;
  }
  return tensors.failed() ? fail(status, WEIR_INTERNAL, files[number], "its contents are damaged")
                          : int32_t(WEIR_OK);
}

int32_t SlicesReader::addTensor(const weir_string &message, int64_t file, weir_status *status) {
  Piece piece = {};
  piece.file = file;
  weir_string name{"", 0};
  HeapList<TensorSlice> slices;
  MessageReader fields(message);
  bool isGood = true;
  while (isGood && fields.next()) {
    if (fields.is(1, MessageReader::bytes))
      name = fields.contents;
    else if (fields.is(2, MessageReader::bytes))
      isGood = readShape(fields.contents, &piece.shape);
    else if (fields.is(3, MessageReader::varint))
      piece.type = int32_t(fields.value);
    else if (fields.is(4, MessageReader::bytes)) {
      TensorSlice slice;
      isGood = readSlice(fields.contents, &slice) && slices.push(slice);
    }
  }
  piece.name = names.size();
  piece.nameSize = name.size;
  names << name;
  if (names.failed() || slices.failed())
    return refuseMemory(status, "a checkpoint");
  if (!isGood || fields.failed() || piece.shape.count() < 0)
    return fail(status, WEIR_INTERNAL, files[file], "what it says of a tensor is damaged");
  // Slices of one tensor may come from several files.
  int32_t type;
  StoredShape shape;
  if (!find(name, &type, &shape, nullptr) && (type != piece.type || !(shape == piece.shape)))
    return fail(status, WEIR_INTERNAL, files[file],
                "a tensor is of another type or shape than in another place");
  for (int64_t i = 0; i < slices.size(); ++i) {
    piece.slice = slices[i];
    StoredShape sliced;
    if (int32_t code = piece.slice.applyTo(piece.shape, &sliced, status))
      return code;
    if (!pieces.push(piece))
      return refuseMemory(status, "a checkpoint");
  }
  return WEIR_OK;
}

int32_t SlicesReader::find(const weir_string &name, int32_t *type, StoredShape *shape,
                           weir_status *status) const {
  for (int64_t i = 0; i < pieces.size(); ++i)
    if (compareBytes(nameOf(pieces[i]), name) == 0) {
      *type = pieces[i].type;
      *shape = pieces[i].shape;
      return WEIR_OK;
    }
  StatusText out(status, WEIR_NOT_FOUND);
  out << "tensor ";
  out.quoted(name.data, name.size) << " is not in checkpoint " << files[0];
  return WEIR_NOT_FOUND;
}

int32_t SlicesReader::readPiece(const Piece &piece, const TensorSlice &wanted, void *to,
                                const StringMemory &memory, weir_status *status) {
  const char *path = files[piece.file];
  InputFile file;
  TableReader table;
  HeapText key, value;
  weir_string name = nameOf(piece);
  writeSliceKey(key, name, piece.slice);
  if (key.failed())
    return refuseMemory(status, "a checkpoint");
  weir_status inner = WEIR_STATUS_INIT;
  int32_t code = file.open(path, &inner);
  if (!code)
    code = table.open(file, &inner);
  if (!code)
    code = table.find(key.view(), value, &inner);
  weir_string saved, elements{"", 0};
  if (!code && (!partOf(value.view(), 2, &saved) || !partOf(saved, 3, &elements)))
    code = WEIR_DATA_LOSS;
  if (code)
    return fail(status, WEIR_INVALID_ARGUMENT, path,
                *inner.message ? inner.message : "elements of a slice are not there");
  const StoredType &type = storedType(piece.type);
  TensorSlice stored = piece.slice.within(piece.shape), common;
  int64_t count = elementsOf(stored);
  int64_t bytes = piece.type == storedString ? int64_t(sizeof(weir_string)) : type.bytes;
  // A value takes a byte at least.
  HeapList<char> all;
  if (count > value.size() || !intersect(stored, wanted, &common))
    return fail(status, WEIR_INVALID_ARGUMENT, path, "elements of a slice are missing");
  if (!all.reserve(count * bytes))
    return refuseMemory(status, "a checkpoint");
  if (const char *problem = readValues(elements, piece.type, count, all.data(), memory))
    return fail(status, WEIR_INVALID_ARGUMENT, path, problem);
  copySlice(common, stored, all.data(), wanted, to, bytes);
  return WEIR_OK;
}

int32_t SlicesReader::read(const weir_string &name, const TensorSlice &slice, void *to,
                           const StringMemory &memory, weir_status *status) {
  int64_t covered = 0, needed = 0;
  for (int64_t i = 0; i < pieces.size(); ++i) {
    const Piece &piece = pieces[i];
    if (compareBytes(nameOf(piece), name) != 0)
      continue;
    if (storedType(piece.type).field == 0)
      return fail(status, WEIR_UNIMPLEMENTED, files[piece.file],
                  "a tensor is of a type that the old format does not have");
    TensorSlice wanted = slice.within(piece.shape), stored = piece.slice.within(piece.shape);
    needed = elementsOf(wanted);
    TensorSlice common;
    for (int64_t k = 0; k < i; ++k)
      if (compareBytes(nameOf(pieces[k]), name) == 0 &&
          intersect(stored, pieces[k].slice.within(pieces[k].shape), &common))
        return fail(status, WEIR_INTERNAL, files[piece.file], "slices of a tensor overlap");
    if (!intersect(stored, wanted, &common))
      continue;
    if (int32_t code = readPiece(piece, wanted, to, memory, status))
      return code;
    covered += elementsOf(common);
  }
  return covered == needed ? int32_t(WEIR_OK)
                           : fail(status, WEIR_INVALID_ARGUMENT, files[0],
                                  "there are not all slices of a tensor that are wanted");
}

} // namespace weir::rt
