"""Works with instruments in a headless Chromium as a person would: cuts, carves, grasps, puts tools down, takes back.

Usage: check_instruments.py PALPATE --out DIR [--page FOLDER] [--chromium PATH]

Rehearses on tissue of linked elements: presses it, draws the scalpel through it with the mouse and sees links cut and
another surface, takes that back and does it again by the buttons, takes the curette, closes the tweezers and lifts what
they hold, puts them down closed and presses with the other tool. Then a flat box, the limb, and a line traced with the
stylus. The recording with two tools is run again, bit by bit. Screenshots and numbers go to DIR. Exit 1 and a sentence if anything
does not hold.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from browser import HELD, Page, Served, hold, judged, launched
from check_rehearsal import choose

SHAPE = ("(() => { const all = palpate.scene.rest_m, faces = palpate.scene.triangles; let sum = 0;"
         " for (const m of all) sum = (sum * 31 + Math.round(1e5 * m)) | 0;"
         " for (const node of faces) sum = (sum * 31 + node) | 0;"
         " return [all.length / 3, faces.length / 3, sum]; })()")
CUT = "palpate.seen.state.master.links_cut"
JAWS = "Math.abs(palpate.seen.state.master.tissue_force_n[3])"
LIFTED = "palpate.seen.state.master.tissue_force_n[2]"
PARKED = "Math.hypot(...palpate.seen.state.master.parked_n.slice(0, 3))"


def still(page):
    """A browser that draws without a graphics card leaves little of a small machine: it draws for pictures only."""
    page.js("palpate.scene.draw = () => { palpate.scene.follow(); return false; }")


def shot(page, path):
    page.js("delete palpate.scene.draw, palpate.scene.dirty = true")
    time.sleep(0.5)
    page.shot(path)
    still(page)


def take(page, tool):
    page.page.select_option("#rehearsal-tool", tool)
    page.until(f"palpate.practice.now.tool === '{tool}' && palpate.scene.rest_m", f"the {tool} is at hand", 120)
    page.until("palpate.seen.state.master.spoken === 1", "it is shown")
    time.sleep(0.7)


def works(page, on):
    if page.page.is_checked("#grip") != on:
        page.page.keyboard.press("g")
    hold(page.page.is_checked("#grip") == on, "the key G lets the tool work")


def lead(page, start, end, depth_m, done, steps=40):
    """Draw the tool from one place to another until the page shows that it is `done`."""
    for attempt in range(6):
        page.lead(start, end, depth_m, steps)
        if page.js(f"Boolean({done})"):
            return
        page.let_go()
        time.sleep(0.5)
    sys.exit(f"does not hold: {done} after {attempt + 1} strokes; {page.js(CUT)} links cut")


def until(page, condition, what, seconds=60):
    page.until(condition, what, seconds)


def press(page, out, numbers):
    numbers["linked_begins_s"] = choose(page, "linked-nodule")
    page.press(0.0, 0.0, 1.0)
    until(page, "palpate.scene.positions.array.some((z, at) => at % 3 == 2 && palpate.scene.rest_m[at] - z > 0.001)",
          "the linked surface gives way")
    numbers["linked_press_n"] = round(page.force(), 2)
    shot(page, Path(out, "linked-press.png"))
    page.let_go()
    time.sleep(0.3)


def cut(page, out, numbers):
    take(page, "scalpel")
    before = page.js(SHAPE)
    hold(page.js(CUT) == 0, "nothing is cut yet")
    works(page, True)
    lead(page, (-0.014, -0.012), (0.014, -0.012), 0.008, f"{CUT} > 15")
    shot(page, Path(out, "scalpel.png"))
    works(page, False)
    time.sleep(0.3)
    page.let_go()
    links = page.js(CUT)
    until(page, f"JSON.stringify({SHAPE}) !== '{json.dumps(before, separators=(',', ':'))}'", "another surface is shown")
    after = page.js(SHAPE)
    hold(str(links) in page.page.text_content("#cut"), f"the page says how much is cut: {page.page.text_content('#cut')}")
    page.page.click("#undo")
    until(page, f"{CUT} < {links}", "Undo links again what was cut last")
    undone = page.js(CUT)
    page.page.click("#redo")
    until(page, f"{CUT} === {links}", "Redo cuts it again")
    numbers["cut"] = {"links": links, "after_undo": undone, "surface": [before[:2], after[:2]]}
    page.press(0.0, -0.012, 0.3)
    shot(page, Path(out, "cut-pressed.png"))
    page.let_go()
    time.sleep(0.3)


def carve(page, out, numbers):
    take(page, "curette")
    before = page.js(CUT)
    works(page, True)
    lead(page, (-0.004, 0.016), (0.004, 0.016), 0.004, f"{CUT} > {before} + 20", steps=15)
    works(page, False)
    time.sleep(0.3)
    page.let_go()
    numbers["carved_links"] = page.js(CUT) - before
    time.sleep(0.6)
    shot(page, Path(out, "carved.png"))


def hold_and_lift(page):
    """Close the jaws on the tissue and lift what they hold; again if a stalled machine let it go."""
    for _ in range(6):
        page.down((-0.015, 0.0), 0.002)
        works(page, True)
        time.sleep(1.0)
        if page.js(f"{HELD} && {JAWS} > 0.05"):
            for _ in range(12):
                page.page.mouse.wheel(0, -100)
                time.sleep(0.08)
            time.sleep(0.7)
            if page.js(f"{HELD} && {LIFTED} < -0.02"):
                return
        works(page, False)
        page.let_go()
    sys.exit("does not hold: the jaws hold what they close on, and it pulls back when it is lifted")


def grasp(page, out, numbers):
    choose(page, "linked-nodule")
    take(page, "tweezers")
    hold_and_lift(page)
    numbers["grip_n"], numbers["pull_n"] = round(page.js(JAWS), 3), round(page.js(LIFTED), 3)
    shot(page, Path(out, "grasped.png"))


def second_tool(page, out, numbers):
    """The jaws are left closed where they are; the other tool presses beside them; then they are taken again."""
    numbers["two_tools_part"] = page.js("palpate.practice.now.part")
    for _ in range(6):
        if not page.js(f"{HELD} && {LIFTED} < -0.02"):
            works(page, False)
            page.let_go()
            hold_and_lift(page)
        held = page.js("[...palpate.seen.state.master.position_m]")
        page.page.keyboard.press("p")
        until(page, "palpate.seen.state.master.parked_m[3] !== 0", "a tool lies where it was put down")
        time.sleep(1)
        page.let_go()
        if page.js(PARKED) > 0.02:
            break
        # the machine had let go of it before it was put down: its jaws are open
        page.page.click("#swap")
        time.sleep(1)
    until(page, f"{PARKED} > 0.02", "the tool that was put down holds on")
    take(page, "fingertip")
    page.press(0.012, 0.0, 0.6)
    numbers["two_tools_n"] = [round(page.force(), 2), round(page.js(PARKED), 3)]
    time.sleep(0.4)
    shot(page, Path(out, "two-tools.png"))
    hold(page.page.is_visible("#parked"), "the page says what is on the other tool")
    hold(page.js(PARKED) > 0.02, "it holds while the other one presses")
    page.let_go()
    page.page.click("#swap")
    until(page, "palpate.practice.now.tool === 'tweezers'", "the hand has the tweezers again")
    time.sleep(0.7)
    again = page.js("[...palpate.seen.state.master.position_m]")
    off_mm = 1e3 * sum((a - b) ** 2 for a, b in zip(held[:3], again[:3])) ** 0.5
    hold(off_mm < 1, f"they are where they were put down: {off_mm} mm away")
    hold(page.js(f"{JAWS} > 0.05") and page.page.is_checked("#grip"), "and closed still")
    hold(page.js(f"{PARKED} > 0.3"), "the finger presses on where it was put down")
    shot(page, Path(out, "swapped-back.png"))
    works(page, False)


def shapes(page, out, numbers):
    take(page, "spatula")
    page.press(0.0, 0.0, 0.8)
    time.sleep(0.4)
    numbers["spatula_n"] = round(page.force(), 2)
    shot(page, Path(out, "spatula.png"))
    page.let_go()
    take(page, "rod")
    page.press(0.0, 0.0, 0.8)
    time.sleep(0.4)
    shot(page, Path(out, "rod.png"))
    page.let_go()


def limb(page, out, numbers):
    take(page, "fingertip")
    numbers["limb_begins_s"] = choose(page, "limb")
    page.press(0.0, 0.0, 0.8)
    numbers["limb_press_n"] = round(page.force(), 2)
    time.sleep(0.4)
    shot(page, Path(out, "limb-press.png"))
    page.let_go()
    take(page, "scalpel")
    works(page, True)
    lead(page, (-0.010, 0.0), (0.010, 0.0), 0.008, f"{CUT} > 10")
    works(page, False)
    page.let_go()
    numbers["limb_links_cut"] = page.js(CUT)
    time.sleep(0.6)
    shot(page, Path(out, "limb-cut.png"))


def trace(page, out, numbers):
    choose(page, "sheet")
    take(page, "stylus")
    page.page.click("#begin-trace")
    until(page, "palpate.practice.now.task?.line_m && palpate.seen.state.master.tick < 60000", "a line is to be traced")
    start, end = page.js("palpate.practice.now.task.line_m")
    page.press(*start, 0.9)
    for step in range(1, 61):
        share = step / 60
        page.page.mouse.move(*page.at(*(a + share * (b - a) for a, b in zip(start, end))))
        time.sleep(0.08)
    shot(page, Path(out, "trace.png"))
    page.page.focus("#finish")
    page.page.keyboard.press("Enter")
    until(page, "palpate.practice.now.task?.score", "the trace is scored")
    page.let_go()
    parts = dict(page.js("palpate.practice.now.task.score.parts"))
    numbers["trace"] = {"score": round(page.js("palpate.practice.now.task.score.score"), 2), **parts}
    hold(parts.get("of_the_line", 0) > 0.3, f"the line was touched: {parts}")
    shot(page, Path(out, "traced.png"))


def replayed(palpate, recording, out):
    """Whether a recording is the same again, bit by bit."""
    again = subprocess.run([palpate, "replay", str(recording), "--out", str(Path(out, "again"))], capture_output=True, text=True)
    hold(again.returncode == 0, f"a rehearsal with two tools is replayed bit by bit: {again.stdout}{again.stderr}")


def instruments(arguments, browser, numbers):
    out = Path(arguments.out, "rehearsal")
    flags = ["--duration", "1800", "--attempts", str(Path(arguments.out, "attempts.jsonl")), "--twin", "linked-nodule"]
    with Served(arguments.palpate, "rehearse", "--console", "--console-port", "0", "--out", str(out), *flags) as session:
        page = Page(browser, session.url, arguments.page)
        until(page, "window.palpate?.seen.frames > 10 && palpate.scene.rest_m && palpate.practice.now", "the page loads", 90)
        still(page)
        for part in (press, cut, carve, grasp, second_tool, shapes, limb, trace):
            part(page, arguments.out, numbers)
            print(part.__name__, "held", file=sys.stderr)
        page.whole(session)
        page.end()
        code = session.end()
    judged(out, code, numbers)
    [two_tools] = out.glob(f"{numbers['two_tools_part']}-*/recording.mcap")
    replayed(arguments.palpate, two_tools, arguments.out)


if __name__ == "__main__":
    sys.exit(launched(instruments))
