#!/usr/bin/env python3
#===- pages.py - reports in a browser, as a person uses them ----------------===#
#
# Part of weir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===-------------------------------------------------------------------------===#
"""Opens pages without a screen, by the DevTools protocol over a pipe, and clicks through them.

usage: pages.py CHROMIUM REFERENCES SHOTS [--write] [-]FOLDER=NODE…

Of each FOLDER's index.html: it opens in 1.5 s from navigation to its load event, NODE is found by
the search field and followed to what reads it, the slowest kernel's reason is two clicks away and
its machine code the third, and nothing is written to the console. Pictures go to SHOTS; those of
the graph and of the kernel are compared with REFERENCES/NAME.json, which has the mean colour of each
piece of a grid: fonts of a machine make no difference there, what is missing or dark does.
--write makes these anew; of a -FOLDER, whose times are measured, none are compared.
"""
import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
import zlib

WIDTH, HEIGHT, GRID = 1400, 900, (28, 18)
# Of 255: the mean over the picture, and the share of pieces that are more than 48 off.
MOST_MEAN, MOST_OFF = 6, 0.06


class Browser:
    def __init__(self, chromium, folder):
        to_child, self.out = os.pipe()
        self.input, from_child = os.pipe()

        def place():
            # The child's ends are 3 and 4; they may lie on each other's place.
            a, b = os.dup(to_child), os.dup(from_child)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.child = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--force-color-profile=srgb", "--user-data-dir=" + folder, "--hide-scrollbars",
             f"--window-size={WIDTH},{HEIGHT}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.number, self.rest, self.events = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT,
                  deviceScaleFactor=1, mobile=False)

    session = None

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.input], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive(120)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.receive(120))

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(expression + ": " + str(result["exceptionDetails"]))
        return result["result"].get("value")

    def until(self, expression):
        end = time.monotonic() + 60
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.05)

    def click(self, expression):
        """Presses the mouse where an element is."""
        place = self.value(f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'center'}}); "
                           "const r = e.getBoundingClientRect(); "
                           "return [r.x + Math.min(r.width / 2, 60), r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left",
                      clickCount=1)

    def errors(self):
        found = []
        for event in self.events:
            what, about = event.get("method"), event.get("params", {})
            if what == "Runtime.exceptionThrown":
                found.append(str(about["exceptionDetails"].get("exception", {}).get("description")))
            elif what == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
                found.append(str(about["args"]))
            elif what == "Log.entryAdded" and about["entry"]["level"] == "error":
                found.append(about["entry"]["text"])
        return found

    def picture(self, scale=1):
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": scale}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip)["data"])

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        self.child.wait(30)


def pixels(png):
    """Rows of RGB or RGBA bytes of a PNG without interlacing, as the browser writes it."""
    at, data = 8, b""
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, channels = (int.from_bytes(body[:4], "big"),
                                       int.from_bytes(body[4:8], "big"), {2: 3, 6: 4}[body[9]])
        elif kind == b"IDAT":
            data += body
        at += 12 + size
    raw, length, rows = zlib.decompress(data), width * channels, []
    last = bytearray(length)
    for y in range(height):
        start = y * (length + 1)
        way, line = raw[start], bytearray(raw[start + 1:start + 1 + length])
        for x in range(length):
            a = line[x - channels] if x >= channels else 0
            b = last[x]
            if way == 1:
                line[x] = line[x] + a & 255
            elif way == 2:
                line[x] = line[x] + b & 255
            elif way == 3:
                line[x] = line[x] + (a + b >> 1) & 255
            elif way == 4:
                c = last[x - channels] if x >= channels else 0
                p = a + b - c
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                line[x] = line[x] + near & 255
        rows.append(line)
        last = line
    return rows, channels


def summary(png):
    """The mean colours of a grid's pieces."""
    rows, channels = pixels(png)
    wide, high = len(rows[0]) // channels // GRID[0], len(rows) // GRID[1]
    found = []
    for j in range(GRID[1]):
        for i in range(GRID[0]):
            for c in range(3):
                begin, end = i * wide * channels + c, (i + 1) * wide * channels
                found.append(sum(sum(rows[y][begin:end:channels])
                                 for y in range(j * high, (j + 1) * high)) // (wide * high))
    return found


def differs(png, path, writes):
    own = summary(png)
    if writes:
        with open(path, "w") as file:
            json.dump(own, file)
            file.write("\n")
    with open(path) as file:
        other = json.load(file)
    off = [abs(a - b) for a, b in zip(own, other)]
    mean, share = sum(off) / len(off), sum(o > 48 for o in off) / len(off)
    if len(own) == len(other) and mean <= MOST_MEAN and share <= MOST_OFF:
        return ""
    return f"the picture is not that of {os.path.basename(path)}: {mean:.1f} of 255 off, {share:.2f} of it far off"


def look(browser, folder, node, references, shots, writes, compares):
    name, problems = os.path.basename(os.path.normpath(folder)), []
    browser.events.clear()
    opened = 1e9
    for _ in range(15):  # the machine may be busy with others meanwhile
        browser.call("Page.navigate", url="about:blank")
        browser.wait("Page.loadEventFired")
        browser.events = [e for e in browser.events if e.get("method") != "Page.loadEventFired"]
        browser.call("Page.navigate",
                     url="file://" + os.path.abspath(os.path.join(folder, "index.html")))
        browser.wait("Page.loadEventFired")
        browser.events = [e for e in browser.events if e.get("method") != "Page.loadEventFired"]
        opened = min(opened, browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        if opened < 1500:
            break

    def shot(what, isCompared=False):
        png = browser.picture()
        with open(os.path.join(shots, f"{name}-{what}.png"), "wb") as file:
            file.write(png)
        if isCompared and compares:
            problem = differs(browser.picture(0.25), os.path.join(references, f"page-{name}-{what}.json"), writes)
            problems.extend([problem] if problem else [])

    shot("1-summary")
    # The slowest kernel is the first row; beside it stands the reason.
    browser.click("document.querySelector('#summary tr[data-i]')")
    reason = browser.value("document.getElementById('detail').innerText")
    shot("2-slowest", isCompared=True)
    for wanted in ("bound by", "predicted", "nodes"):
        if wanted not in reason:
            problems.append(f"the slowest kernel's details lack {wanted!r}: {reason[:200]}")
    if "open" not in reason and "registers" not in reason:
        problems.append("the slowest kernel has no machine code")
    browser.click("document.querySelector('#detail [data-code]')")
    browser.until("document.body.dataset.code")
    if not browser.value("document.getElementById('assembly').innerText.split('\\n').length > 8 && "
                         "document.getElementById('code').innerText.includes('weir_plan.kernel')"):
        problems.append("there is no assembly beside the IR")
    shot("3-code")
    # Find a node, and follow it to its first reader.
    browser.click("document.querySelector('[data-tab=graph]')")
    browser.click("document.getElementById('search')")
    browser.call("Input.insertText", text=node)
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter",
                     windowsVirtualKeyCode=13, text="\r")
    shown = browser.value("document.getElementById('detail').innerText")
    if not shown.startswith(node) or "what became of it" not in shown or "stage by stage" not in shown:
        problems.append(f"{node} is not found: {shown[:200]}")
    shot("4-node", isCompared=True)
    reader = browser.value("(() => { const all = [...document.querySelectorAll('#detail dt')]; const "
                           "dt = all.find(e => e.innerText === 'is read by'); "
                           "return dt ? dt.nextSibling.querySelector('a').innerText : ''; })()")
    if reader:
        browser.click("[...document.querySelectorAll('#detail dt')].find(e => e.innerText === "
                      "'is read by').nextSibling.querySelector('a')")
        if not browser.value("document.getElementById('detail').innerText").startswith(reader):
            problems.append(f"{reader} is not followed")
        shot("5-followed")
    for tab in ("kernels", "memory", "timeline", "nodes"):
        browser.click(f"document.querySelector('[data-tab={tab}]')")
        shot("6-" + tab)
    problems += ["the console says: " + text for text in browser.errors()]
    nodes = browser.value("nodes.length")
    print(f"{name}: {nodes} nodes, opened in {opened:.0f} ms, followed {node} to {reader}")
    if opened > 1500:
        problems.append(f"opened in {opened:.0f} ms")
    return problems


def main():
    chromium, references, shots, *rest = sys.argv[1:]
    writes = "--write" in rest
    os.makedirs(shots, exist_ok=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(chromium, profile)
        try:
            for one in rest:
                if one == "--write":
                    continue
                folder, node = one.split("=", 1)
                compares, folder = not folder.startswith("-"), folder.removeprefix("-")
                for problem in look(browser, folder, node, references, shots, writes, compares):
                    print(f"  {folder}: {problem}")
                    wrong += 1
        finally:
            browser.close()
    print(f"{wrong} problems")
    sys.exit(1 if wrong else 0)


main()
