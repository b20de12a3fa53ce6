"""What the checks of the page share: a command that serves one, the page in a headless Chromium, and a hand that does not tire.

A machine that stalls for half a second has the handle let go under the mouse: that is its right, so whoever presses here
takes it again. A thread that only sleeps measures how late the machine wakes it. A check that fails while this thread is late
by tenths of a second judges the machine, and ends with status 3. Source: ours.
"""

import argparse
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

HELD = "palpate.pointer.held"
FLAGS = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
# what the clock of a machine decides that others use too
CLOCK = ("share of the ticks missed", "motion while not enabled", "limit cycles")
NOT_JUDGED = 3
# pictures a second below which a page lets the handle go of its own accord, again and again
PICTURES_MIN = 12


class WakeMonitor(threading.Thread):
    """How late the machine wakes a thread that only sleeps: each wake by how much [s]."""

    # a thread of an idle machine is late by less than a millisecond
    STALL_S = 0.1
    STALLS_MIN = 5

    def __init__(self):
        super().__init__(daemon=True)
        self.late_s = []

    def run(self):
        while True:
            begun = time.monotonic()
            time.sleep(0.02)
            self.late_s.append(time.monotonic() - begun - 0.02)

    def stalls(self):
        return sum(late > self.STALL_S for late in self.late_s)

    def numbers(self):
        late = sorted(self.late_s)
        return {"wake_late_ms_p99": round(1e3 * late[len(late) * 99 // 100], 1), "wake_late_ms_max": round(1e3 * late[-1], 1),
                "stalls": self.stalls()}


def hold(condition, what):
    if not condition:
        sys.exit(f"does not hold: {what}")


class Served:
    """A command with a console."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.search(r"http://\S+", line)
        hold(found, f"the address of the console is printed: {line!r}")
        self.url = found.group(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate()

    def end(self):
        self.stdout, self.stderr = self.process.communicate(timeout=120)
        return self.process.returncode


def judged(out, code, numbers):
    """The summary of a command that has ended: its status says whether all held, and only what a clock decides may not."""
    summary = json.loads(Path(out, "summary.json").read_text())
    broken = [check["name"] for check in summary["checks"] if not check["held"] and check["value"] is not None]
    numbers["exit"], numbers["checks_broken"] = code, broken
    hold(code in ((0, 1) if broken else (0,)), f"exit 0, or 1 where a check broke: {code}, {broken}")
    hold(all(name in CLOCK for name in broken), f"all that the clock does not decide holds: {broken}")
    return summary


class Session(Served):
    """A session of `palpate run`, or another command, with its console."""

    def __init__(self, palpate, out, *flags, command="run"):
        super().__init__(palpate, command, "--console-port", "0", "--out", str(out), *flags)


class Page:
    """One page of the console, and what it is seen to do."""

    def __init__(self, browser, url, folder=None, size=(1280, 800), dark=False, script=None):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
        )
        self.page = context.new_page()
        self.errors, self.asked = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("request", lambda request: self.asked.append(request.url))
        if script:
            self.page.add_init_script(script)
        if folder:
            # the page as it lies on the disk, for whoever is changing it
            self.page.route(re.compile(r"\.(js|css)$"), lambda route: route.fulfill(
                path=Path(folder, route.request.url.split("/", 4)[4]),
                content_type="text/css" if route.request.url.endswith("css") else "text/javascript"))
        self.page.goto(url, timeout=90_000)

    def js(self, text):
        return self.page.evaluate(text)

    def until(self, text, what, seconds=60):
        # asked from outside: what waits inside the page is made by eval, which the page does not allow
        begun = time.monotonic()
        while not self.js(f"Boolean({text})"):
            if time.monotonic() - begun > seconds:
                seen = self.js("JSON.stringify(window.palpate?.seen.state?.master ?? null)")
                sys.exit(f"does not hold within {seconds} s: {what}; {self.errors[:3]}; {seen}")
            time.sleep(0.02)

    def numbers(self):
        return self.js("({frames: palpate.seen.frames, surfaces: palpate.seen.surfaces, echo_ms: palpate.seen.echo_ms,"
                       " pictures: palpate.seen.pictures, nodes: palpate.scene.rest_m?.length / 3})")

    def at(self, x_m, y_m):
        """Position on the screen of a place of the surface; a click on a lower button may have scrolled it away."""
        self.js("scrollTo(0, 0)")
        return self.js(f"palpate.scene.onScreen([{x_m}, {y_m}, palpate.scene.top_m ?? 0])")

    def press(self, x_m, y_m, force_n, seconds=90):
        """Hold the handle over a place and turn the wheel until so much is felt."""
        mouse, begun, pictures = self.page.mouse, time.monotonic(), []
        # one call for all: a browser that draws slowly answers a few in a second
        seen = (f"({{held: {HELD}, force_n: Math.hypot(...palpate.seen.state.master.port_force_n.slice(0, 3)),"
                " depth_m: palpate.pointer.depth_m, place_m: palpate.seen.state.master.position_m,"
                " pictures: palpate.seen.pictures})")
        while time.monotonic() - begun < seconds:
            mouse.move(*self.at(x_m, y_m))
            mouse.down()
            while (now := self.js(seen))["held"] and time.monotonic() - begun < seconds:
                pictures.append(now["pictures"])
                if now["force_n"] > force_n:
                    return
                over = abs(now["place_m"][0] - x_m) + abs(now["place_m"][1] - y_m) < 0.004
                if now["depth_m"] < 0.012 and over:
                    mouse.wheel(0, 100 if now["force_n"] > 0.5 * force_n else 200)
                time.sleep(0.06)
            # on a machine that stalls for half a second the handle was let go: that is its right
            mouse.up()
        print(f"does not hold: {force_n} N are felt; {self.force():.2f} N are", file=sys.stderr)
        slow = sum(pictures) < PICTURES_MIN * len(pictures)
        sys.exit(NOT_JUDGED if slow else 1)

    def down(self, place, depth_m):
        """Take the handle over a place and turn the wheel until its aim is so deep."""
        mouse = self.page.mouse
        for _ in range(10):
            mouse.move(*self.at(*place))
            mouse.down()
            begun = time.monotonic()
            while self.js(HELD) and time.monotonic() - begun < 30:
                deep = self.js("palpate.pointer.depth_m") > depth_m - 1e-4
                if self.over(*place):
                    if deep:
                        return
                    mouse.wheel(0, 200)
                time.sleep(0.05)
            mouse.up()
        sys.exit(f"does not hold: the handle goes {1e3 * depth_m} mm deep at {place}")

    def lead(self, start, end, depth_m, steps):
        """Draw the tool from one place to another at a depth; whether it was held all the way."""
        self.down(start, depth_m)
        for step in range(1, steps + 1):
            if not self.js(HELD):
                return False
            self.page.mouse.move(*self.at(*(a + step / steps * (b - a) for a, b in zip(start, end))))
            time.sleep(0.08)
        time.sleep(0.5)
        return self.js(HELD)

    def over(self, x_m, y_m):
        place = self.js("palpate.seen.state.master.position_m")
        return abs(place[0] - x_m) + abs(place[1] - y_m) < 0.004

    def let_go(self):
        self.page.mouse.up()

    def end(self):
        """End the session as a person does."""
        self.page.click("#end")
        self.page.click("#end-now")

    def whole(self, served):
        """The page did not break, and asked for nothing outside."""
        hold(not self.errors, f"no page breaks: {self.errors}")
        own = (served.url, served.url.replace("http", "ws"), "data:")
        outside = [url for url in self.asked if not url.startswith(own)]
        hold(not outside, f"nothing outside is asked for: {outside}")

    def force(self):
        return self.js("Math.hypot(...palpate.seen.state.master.port_force_n.slice(0, 3))")

    def shot(self, path):
        self.page.screenshot(path=path)


def launched(check, **more):
    """Reads the flags, lets `check` drive a browser, and prints the numbers that it finds; `more` are flags with their defaults."""
    parser = argparse.ArgumentParser()
    parser.add_argument("palpate")
    parser.add_argument("--out", required=True)
    parser.add_argument("--page")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--keyboard", action="store_true", help="stop by the key, not by the button")
    for name, value in more.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    arguments = parser.parse_args()
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    numbers = {}
    monitor = WakeMonitor()
    monitor.start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=FLAGS)
        try:
            check(arguments, browser, numbers)
        except (SystemExit, Error, subprocess.TimeoutExpired) as failure:
            if monitor.stalls() >= monitor.STALLS_MIN:
                print(failure, file=sys.stderr)
                sys.exit(NOT_JUDGED)
            raise
        finally:
            numbers["machine"] = monitor.numbers()
            print(json.dumps(numbers))
            browser.close()
