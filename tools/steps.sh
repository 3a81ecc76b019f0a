#===- steps.sh - Numbered steps with their times ----------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
#
# For scripts that people run by hand: each step says what it is about to do, and
# how long the one before it took.
#
#   steps=3; step "packages"; …; step "building"; …; steps_done
#
step_number=0
step_begin=$SECONDS
script_begin=$SECONDS

step_end() {
  [ $step_number = 0 ] || echo "      done in $((SECONDS - step_begin)) s"
}

step() {
  step_end
  step_number=$((step_number + 1))
  step_begin=$SECONDS
  printf '\n[%d/%d] %s\n' $step_number $steps "$*"
}

steps_done() {
  step_end
  printf '\n%s took %d s.\n' "$1" $((SECONDS - script_begin))
}

trap 'code=$?; [ $code = 0 ] || echo "
$0: step $step_number failed (exit status $code); what is above says why" >&2' EXIT
