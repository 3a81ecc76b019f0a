#===- namespaces.py - Hosts of their own on this one -------------------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Network namespaces, joined by a bridge; what links carry can be shaped. Needs root."""
import os
import subprocess


def possible():
    """Whether this process may make them."""
    name = f"weir-try-{os.getpid()}"
    made = os.geteuid() == 0 and subprocess.run(
        ["ip", "netns", "add", name], stderr=subprocess.DEVNULL).returncode == 0
    if made:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return made


class Namespaces:
    """`count` namespaces with an address each (see address()), and a bridge between them in one
    more. `rate` ("1gbit") and `delay` ("100us") are those of each link, where they are given.
    All are gone after the `with`."""

    def __init__(self, count, rate=None, delay=None):
        tag = os.getpid() % 100000
        self.hub = f"weir-hub-{tag}"
        self.names = [f"weir-{tag}-{i}" for i in range(count)]
        self.ends = [f"w{tag}n{i}" for i in range(count)]
        self.rate, self.delay = rate, delay

    def __enter__(self):
        try:
            run("ip", "netns", "add", self.hub)
            run("ip", "-n", self.hub, "link", "add", "bridge", "type", "bridge")
            run("ip", "-n", self.hub, "link", "set", "bridge", "up")
            for i, (name, end) in enumerate(zip(self.names, self.ends)):
                run("ip", "netns", "add", name)
                run("ip", "-n", self.hub, "link", "add", f"p{i}", "type", "veth", "peer", "name",
                    end)
                run("ip", "-n", self.hub, "link", "set", end, "netns", name)
                run("ip", "-n", self.hub, "link", "set", f"p{i}", "master", "bridge", "up")
                run("ip", "-n", name, "addr", "add", f"{self.address(i)}/24", "dev", end)
                run("ip", "-n", name, "link", "set", end, "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
                self.shape(name, end)
                self.shape(self.hub, f"p{i}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def shape(self, name, device):
        if self.delay:
            run("tc", "-n", name, "qdisc", "add", "dev", device, "root", "handle", "1:", "netem",
                "delay", self.delay, "limit", "100000")
        if self.rate:
            run("tc", "-n", name, "qdisc", "add", "dev", device,
                *(["parent", "1:", "handle", "2:"] if self.delay else ["root"]),
                "tbf", "rate", self.rate, "burst", "256kb", "latency", "50ms")

    def __exit__(self, *_):
        for name in self.names + [self.hub]:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)

    @staticmethod
    def address(i):
        return f"10.77.0.{i + 1}"

    def inside(self, i):
        """What a command begins with that is to run in namespace i."""
        return ["ip", "netns", "exec", self.names[i]]

    def cut(self, i):
        run("ip", "-n", self.names[i], "link", "set", self.ends[i], "down")

    def join(self, i):
        run("ip", "-n", self.names[i], "link", "set", self.ends[i], "up")


def run(*command):
    subprocess.run(command, check=True)
