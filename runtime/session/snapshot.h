//===- snapshot.h - variables on their way into a checkpoint ----*- C++ -*-===//
//
// Part of weir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WEIR_RUNTIME_SESSION_SNAPSHOT_H
#define WEIR_RUNTIME_SESSION_SNAPSHOT_H

#include "checkpoint/bundle.h"
#include "session/resources.h"
#include "session/session.h"

namespace weir::rt {

/// Whether a slot is a replica's copy of the variable of its name.
inline bool isCopy(const weir_slot_desc &slot) { return slot.flags & WEIR_SLOT_COPY; }
/// The device whose step uses the variable; -1: the object does not say.
inline int32_t deviceOf(const weir_slot_desc &slot) {
  return (slot.flags >> WEIR_SLOT_DEVICE_SHIFT) - 1;
}

/// Whether a slot holds one of several parts of a value.
inline bool isPart(const weir_slot_desc &slot) { return slot.flags & WEIR_SLOT_PART; }

/// Where a part of a value of that shape lies: `shape` becomes the whole value's.
TensorSlice sliceOfPart(const weir_program_desc *program, int32_t slot, StoredShape &shape);

/// What a variable is called in a checkpoint: its name; where several have that, with
/// the container before it. A replica's copy is called as what it is one of, and a part as the
/// whole.
void writeKey(HeapText &key, const weir_program_desc *program, int32_t slot);

/// Which slots a checkpoint takes its values from when all tasks write it, a value a name:
/// of a variable that replicas have copies of the one whose device has the fewest bytes to
/// write so far. By slot, 1: it is written. A function of the program alone, so that all
/// tasks agree. False: no memory.
bool chooseWritten(const weir_program_desc *program, HeapList<uint8_t> &written);

/// What a number of variables says to who asks for one of them.
inline constexpr const char *frozenVariables =
    " of the model are constants, as no entry changes them; possible: weirc --freeze=none";
/// FAILED_PRECONDITION where variables of the model are constants of the program: no checkpoint
/// has them, or gives them values. `partial`: it is of those alone that are left.
int32_t refuseFrozen(const weir_session *session, bool partial, weir_status *status);

/// References to values, by slot, and states of what is no variable.
class Snapshot {
public:
  explicit Snapshot(weir_session *session) : session(session) {}
  ~Snapshot();
  Snapshot(const Snapshot &) = delete;
  Snapshot &operator=(const Snapshot &) = delete;

  /// The values of this moment: of `slots` (by slot, 1: it is wanted), null: of all that are no
  /// copies. Iterators go on no further. False: no memory.
  bool take(const HeapList<uint8_t> *slots = nullptr, bool withStates = true);
  /// Where iterators stand; they go on then. Waits for the elements that are being made, which
  /// `take` does not. False: no memory.
  bool takeStates() { return !withStates || resources.write(session); }
  /// Writes a checkpoint of them, which is on the disk when this returns. `partial`: what was
  /// never assigned is left out. Returns a weir_code.
  int32_t write(const char *prefix, bool partial, weir_status *status) const;
  /// Whether there is anything to write.
  bool isEmpty() const { return wantedCount == 0 && resources.states.view().size == 0; }

private:
  int32_t add(BundleWriter &writer, int32_t slot, weir_status *status) const;
  int32_t addStates(BundleWriter &writer, weir_status *status) const;

  weir_session *const session;
  HeapList<VariableValue *> values; ///< null: never assigned, or not wanted
  HeapList<uint8_t> wanted;
  int64_t wantedCount = 0;
  bool withStates = false;
  ResourceStates resources;
};

/// Reads variables of a checkpoint of any format and, once all of them are there, assigns them:
/// those of `slots` (as of Snapshot; null: all). `partial`: those that it does not have keep their
/// values. `withStates`: where iterators stand, too. Nothing has changed after a failure. Returns
/// a weir_code.
int32_t restoreValues(weir_session *session, const char *prefix, const HeapList<uint8_t> *slots,
                      bool partial, bool withStates, weir_status *status);

/// Before the name of what a checkpoint has of a resource.
inline constexpr weir_string statePrefix = {".state/", 7};

} // namespace weir::rt

#endif // WEIR_RUNTIME_SESSION_SNAPSHOT_H
