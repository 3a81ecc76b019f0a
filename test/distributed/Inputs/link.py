#!/usr/bin/env python3
#===- link.py - What a link carries -----------------------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""usage: link.py listen|connect ADDRESS SECONDS

Both ends send as much as goes, over TCP, at once. Prints bytes a second that came, and half of
the median way there and back of one byte before that, in seconds."""
import socket
import statistics
import sys
import threading
import time

PORT, PIECE = 7002, bytes(1 << 16)


def main():
    way, address, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    if way == "listen":
        with socket.create_server((address, PORT)) as server:
            connection = server.accept()[0]
    else:
        for _ in range(100):
            try:
                connection = socket.create_connection((address, PORT))
                break
            except OSError:
                time.sleep(0.05)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ways = []
    for _ in range(50):
        begin = time.monotonic()
        if way == "connect":
            connection.sendall(b"x")
        connection.recv(1)
        if way == "listen":
            connection.sendall(b"x")
        ways.append(time.monotonic() - begin)
    end = time.monotonic() + seconds

    def send():
        while time.monotonic() < end:
            connection.sendall(PIECE)
        connection.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    came, begin = 0, time.monotonic()
    while got := connection.recv(1 << 20):
        came += len(got)
    print(came / (time.monotonic() - begin), statistics.median(ways) / 2)
    thread.join()


if __name__ == "__main__":
    main()
