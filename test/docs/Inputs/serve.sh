#!/bin/sh
#===- serve.sh - a command beside a server ----------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
#
# usage: serve.sh SERVER COMMAND...
#
# Starts SERVER, which may have arguments, with a port that is free, runs COMMAND with @URL@, @PORT@ and @PID@ replaced,
# ends both.
#
server=$1
shift
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("localhost", 0)); print(s.getsockname()[1])')
# shellcheck disable=SC2086 # its own arguments are words of it
$server "$port" &
pid=$!
for word; do
  shift
  case $word in
  @URL@) word=http://localhost:$port ;;
  @PORT@) word=$port ;;
  @PID@) word=$pid ;;
  esac
  set -- "$@" "$word"
done
"$@"
code=$?
kill $pid
exit $code
