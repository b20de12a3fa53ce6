"""Sits in front of a trial as a person would, by a program that clicks: a block of comparisons, left in its midst and gone
on with, and a search for a lump. Its answers are labelled as those of a machine.

Usage: check_trial.py PALPATE --out DIR [--chromium PATH]

Prints numbers as one line of JSON; anything that does not hold ends it with status 1.
"""

import csv
import json
import math
import subprocess
import sys
import time
from pathlib import Path

from browser import HELD, Page, Served, hold, launched

COMPARE = """
name = "clicked"
kind = "stiffness-2afc"
[base]
tissue = "wall:300"
[base.coupling]
mode = "wave"
[base.link.forward]
jitter_ms = 0.0
loss = 0.0
[base.link.back]
jitter_ms = 0.0
loss = 0.0
[grid]
rtt_ms = [0]
[psycho]
protocol = "constant"
levels = [1.0, 1.2, 1.5]
trials = 4
[person]
practice = 1
pause_every = 3
interval_s = 60.0
"""
SEARCH = """
name = "clicked-search"
kind = "lump-search"
[base]
tissue = "sheet-lump"
twin = "sheet"
[base.link.forward]
jitter_ms = 0.0
loss = 0.0
[base.link.back]
jitter_ms = 0.0
loss = 0.0
[base.coupling]
mode = "wave"
[grid]
rtt_ms = [0]
[person]
practice = 0
search_s = 120.0
"""
# every word and frame that the page is sent, and what is seen of the operator's side
SPY = """
(() => {
  const Plain = window.WebSocket;
  window.spied = { words: [], states: [] };
  window.WebSocket = class extends Plain {
    constructor(...all) {
      super(...all);
      this.addEventListener("message", ({ data }) => {
        if (typeof data === "string") return spied.words.push(JSON.parse(data));
        const view = new DataView(data);
        if (view.getUint16(6, true) === 1) spied.states.push([...new Float64Array(data.slice(32))].map((x) => Number.isNaN(x) ? null : x));
      });
    }
  };
})();
"""
# indices of a side's numbers that a trial shows: spoken, tick, time, state, position, velocity, force, aim, pointer, ordered
SHOWN = {0, 1, 2, 4, *range(8, 16), *range(20, 24), *range(40, 44), *range(57, 62)}
FACTS = {"for", "name", "pointer", "tool_radius_m", "tool_edges_m", "start_m", "force_n_max", "trial"}


class Sitting:
    """A trial that runs, and the page that it serves."""

    def __init__(self, arguments, browser, text, out):
        file = Path(arguments.out, f"{out}.toml")
        file.write_text(text)
        self.out = Path(arguments.out, out)
        command = [arguments.palpate, "trial", str(file), "--person", "machine-clicks", "--console-port", "0", "--out", str(self.out)]
        self.served = Served(*command)
        self.seen = Page(browser, self.served.url, arguments.page, script=SPY)
        self.page, self.js = self.seen.page, self.seen.js
        self.until("window.palpate?.trial?.now && palpate.scene.rest_m", 60)

    def until(self, text, seconds=60):
        self.seen.until(text, f"{text} in a trial", seconds)

    def wait(self, *phases):
        self.until(f"{json.dumps(phases)}.includes(palpate.trial.now.phase)")

    def press(self, depth_mm):
        """Hold the handle in the middle and press so deep; the stiffness that the force and the depth of the tool show."""
        self.until("palpate.pointer.enabled && palpate.seen.state?.master.spoken === 1", 30)
        begun = time.monotonic()
        while time.monotonic() - begun < 50:
            self.seen.down((0.0, 0.0), 1e-3 * depth_mm)
            time.sleep(1.2)
            force, depth = self.js("[-palpate.seen.state.master.port_force_n[2],"
                                   " palpate.scene.top_m + palpate.scene.radius_m - palpate.seen.state.master.position_m[2]]")
            held = self.js(HELD)
            self.seen.let_go()
            if held and force > 0.1 and depth > 0.001:
                return force / depth
        sys.exit(f"does not hold: something is felt; {self.js('JSON.stringify(palpate.seen.state.master)')}")

    def compare(self, shot=None):
        """Feel both, say which was stiffer."""
        felt = []
        for interval in (1, 2):
            self.until(f"palpate.trial.now.phase === 'interval' && palpate.trial.now.interval === {interval}")
            self.js("spied.states = []")
            felt.append(self.press(9.0))
            if shot and interval == 1:
                self.page.screenshot(path=shot)
            self.blind(interval)
            self.page.click("#trial-enough")
        self.wait("ask")
        if shot:
            self.page.screenshot(path=str(shot).replace(".png", "-ask.png"))
        self.page.keyboard.press("1" if felt[0] > felt[1] else "2")
        return felt

    def blind(self, interval):
        """Neither word nor frame told more than may be known before the answer."""
        states = self.js("spied.states")
        hold(states, f"frames came in interval {interval}")
        for state in states:
            master, slave = state[: len(state) // 2], state[len(state) // 2 :]
            # a side that has not spoken yet is all zero
            told = [index for index, value in enumerate(master) if index not in SHOWN and value is not None and any(master)]
            hold(not told and not any(slave), f"a frame tells {told} of the hand, {slave} of the robot")
        for word in self.js("spied.words"):
            session = word.get("session") or {}
            hold(set(session) <= FACTS, f"a fact tells {set(session) - FACTS}")
            hold(word["kind"] in ("hello", "facts", "role", "answer"), f"a word of kind {word['kind']}")

    def facts(self):
        words = self.js("spied.words")
        return [word["session"]["trial"] for word in words if word["kind"] == "facts"]

    def end(self):
        code = self.served.end()
        hold(code == 0, f"exit 0: {code} {self.served.stderr}")
        self.seen.whole(self.served)
        self.page.context.close()


def table(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def comparisons(arguments, browser, numbers):
    sitting = Sitting(arguments, browser, COMPARE, "block")
    sitting.page.screenshot(path=Path(arguments.out, "ready.png"))
    sitting.page.click("#trial-go")
    sitting.wait("interval")
    hold(sitting.js("palpate.trial.now.practice"), "practice comes first")
    sitting.compare(Path(arguments.out, "interval.png"))
    sitting.wait("told")
    sitting.page.screenshot(path=Path(arguments.out, "told.png"))
    sitting.page.keyboard.press("Enter")
    sitting.wait("ready")
    sitting.page.keyboard.press("Enter")
    felt = [sitting.compare() for _ in range(2)]
    both = [fact for fact in sitting.facts() if fact["phase"] == "interval" and fact["number"] == 2 and not fact["practice"]]
    same = [{name: value for name, value in fact.items() if name != "interval"} for fact in both]
    hold(len(both) == 2 and same[0] == same[1], f"what is told of both intervals differs by their number only: {both}")
    sitting.until("palpate.trial.now.number === 3 && palpate.trial.now.phase === 'interval'")
    # what was stopped is felt again, by whoever enables it
    sitting.page.keyboard.press("Escape")
    sitting.wait("stopped")
    sitting.page.screenshot(path=Path(arguments.out, "stopped.png"))
    sitting.page.click("#enable")
    sitting.until("palpate.trial.now.phase === 'interval' && palpate.trial.now.interval === 1 && palpate.trial.now.number === 3")
    sitting.seen.end()
    sitting.end()
    hold("Interrupted before its end" in sitting.served.stderr + sitting.served.stdout, "a block that is left is said to be")
    kept = [json.loads(line) for line in next(Path(sitting.out, "blocks").iterdir()).read_text().splitlines()]
    hold(len(kept) == 2, f"its answers are kept: {kept}")

    again = Sitting(arguments, browser, COMPARE, "block")
    again.page.click("#trial-go")
    again.wait("interval")
    if again.js("palpate.trial.now.practice"):
        again.compare()
        again.wait("told")
        again.page.click("#trial-go")
        again.wait("ready")
        again.page.click("#trial-go")
    felt.append(again.compare())
    again.wait("break")
    again.page.screenshot(path=Path(arguments.out, "break.png"))
    again.page.click("#trial-go")
    felt.append(again.compare())
    again.wait("done")
    again.page.screenshot(path=Path(arguments.out, "done.png"))
    again.end()
    answers, rows = table(Path(again.out, "answers.csv")), table(Path(again.out, "trials.csv"))
    hold(len(answers) == 4 and len(rows) == 1, f"four answers and a row: {answers}")
    hold({row["observer"] for row in answers + rows} == {"machine"}, "they are labelled as a machine's")
    hold({row["participant"] for row in rows} == {"machine-clicks"}, "and by whose")
    hold({row["handle"] for row in rows} == {"page"}, "and what led the handle")
    hold("programmed_weber" not in rows[0], "nobody programmed it")
    report = Path(again.out, "report.html").read_text()
    hold("machine-clicks" in report and "no person" in report and "simulated observer" not in report, "the report says so as well")
    numbers["felt_npm"] = [[round(x) for x in pair] for pair in felt]
    numbers["shown"] = [[row["shown_less_npm"], row["shown_more_npm"]] for row in answers]
    numbers["right"] = [row["right"] for row in answers]
    hold(sum(row["right"] == "1" for row in answers) >= 3, f"who feels tells: {numbers}")
    # what a person answered is never gone on with by a formula
    command = [arguments.palpate, "trial", str(Path(arguments.out, "block.toml")), "--out", str(again.out)]
    mixed = subprocess.run(command, capture_output=True, text=True)
    hold(mixed.returncode == 2 and "hash" in mixed.stderr, f"rows of two observers are not mixed: {mixed.stderr}")


def search(arguments, browser, numbers):
    sitting = Sitting(arguments, browser, SEARCH, "search")
    sitting.page.click("#trial-go")
    sitting.wait("search")
    time.sleep(1)
    sitting.press(6.0)
    sitting.page.screenshot(path=Path(arguments.out, "search.png"))
    sitting.blind(1)
    place = sitting.js("palpate.pointer.tool_m.slice(0, 2)")
    sitting.page.keyboard.press("m")
    sitting.wait("done")
    sitting.end()
    [row] = table(Path(sitting.out, "trials.csv"))
    at = lambda name: float(row[name])
    off = math.hypot(at("marked_x_mm") - at("hidden_x_mm"), at("marked_y_mm") - at("hidden_y_mm"))
    hold(abs(off - at("error_mm")) < 1e-6, f"the error is the distance: {row}")
    hold(abs(at("marked_x_mm") - 1e3 * place[0]) < 2 and abs(at("marked_y_mm") - 1e3 * place[1]) < 2, f"of where the tool was: {row}")
    hold(row["observer"] == "machine" and at("peak_force_n") > 0.1, f"by a machine that pressed: {row}")
    numbers["search"] = {name: row[name] for name in ("error_mm", "found", "search_s", "peak_force_n")}


def both(arguments, browser, numbers):
    comparisons(arguments, browser, numbers)
    search(arguments, browser, numbers)


if __name__ == "__main__":
    launched(both)
