"""Rehearses in a headless Chromium as a person would: chooses a scene, presses, does tasks, and reloads in the middle.

Usage: check_rehearsal.py PALPATE --out DIR [--page FOLDER] [--chromium PATH]

Starts `palpate rehearse --console`, presses with the mouse until more than 1 N is felt, looks for a lump in the scene that
it begins with, by the page's own words and colours, after a reload in the middle, goes from scene to scene, and finds the
attempts in the record and the report.
Screenshots and numbers go to DIR. Exit 1 and a sentence if anything does not hold.
"""

import json
import math
import sys
import time
from pathlib import Path

from browser import HELD, Page, Served, hold, judged, launched

SCENES = ["flat-sheet", "sheet-lump", "tweezers", "linked-nodule", "layered"]

# A search goes over rows so far apart and so long, at one depth; the tool touches with no gap wider than a row's [m].
HALF_M, ROW_M, DEPTH_M = 0.024, 0.006, 0.004
STEPS = 32
TOUCH = "[palpate.seen.state.master.position_m[0], -palpate.seen.state.master.port_force_n[2]]"
TOUCH_N = 0.1
# how near to a place a tool is that rests on it [m]
RESTS_M = 7e-4
# what the page paints: x, y [m] and stiffness [N/m] of every node of which one was felt
PAINTED = """(() => {
  const { stiffness } = palpate.stiffnessMap.maps.hand, rest = palpate.scene.rest_m;
  return [...stiffness].flatMap((npm, node) => (npm > 0 ? [[rest[3 * node], rest[3 * node + 1], npm]] : []));
})()"""


def choose(page, scene, out=None):
    page.page.select_option("#rehearsal-scene", scene)
    begun = time.monotonic()
    page.until(f"palpate.practice.now.scene === '{scene}' && palpate.seen.state.master.tick < 60000", f"{scene} begins", 120)
    page.until("palpate.scene.rest_m && palpate.seen.state.master.spoken === 1", f"{scene} is shown")
    hold(not page.page.is_visible("#over"), "a rehearsal that goes on does not say that it ends")
    took_s = time.monotonic() - begun
    time.sleep(1)
    page.page.wait_for_timeout(200)
    if out:
        page.shot(Path(out, f"scene-{scene}.png"))
    return round(took_s, 2)


def ring(page, place):
    """Press a place and give the stiffness that was felt, from what the page shows."""
    page.press(*place, 0.8)
    time.sleep(0.6)
    force_n, depth_mm = (float(page.page.text_content(name)) for name in ("#force", "#depth"))
    page.let_go()
    time.sleep(0.2)
    return force_n / max(0.1, depth_mm)


def rub(page, y_m):
    """Go along a row at one depth; whether the tool was in touch all along it."""
    page.down((-HALF_M, y_m), DEPTH_M)
    touched = [-HALF_M]
    for step in range(1, STEPS + 1):
        page.page.mouse.move(*page.at(-HALF_M + 2 * HALF_M * step / STEPS, y_m))
        time.sleep(0.06)
        x_m, force_n = page.js(TOUCH)
        if force_n > TOUCH_N:
            touched.append(x_m)
    time.sleep(0.2)
    touched += [x_m for x_m, force_n in [page.js(TOUCH)] if force_n > TOUCH_N]
    page.let_go()
    touched = sorted([*touched, HALF_M])
    return max(after - before for before, after in zip(touched, touched[1:])) < ROW_M


def search(page):
    """Rub row by row, again where the hand was lost, and give the middle of what the page paints as stiff, and how stiff."""
    count = round(2 * HALF_M / ROW_M) + 1
    for y_m in (-HALF_M + ROW_M * row for row in range(count)):
        hold(any(rub(page, y_m) for _ in range(5)), f"the row at {1e3 * y_m:.0f} mm is rubbed in one of five tries")
    hold(not page.js("palpate.stiffnessMap.hidden") and page.page.is_visible("#legend"), "what was felt is seen as colours")
    painted = page.js(PAINTED)
    rising = sorted(npm for _, _, npm in painted)
    plain, most = rising[len(rising) // 2], rising[-1]
    heavy = [(x, y, npm - 0.5 * (plain + most)) for x, y, npm in painted if npm > 0.5 * (plain + most)]
    whole = sum(weight for _, _, weight in heavy)
    return [sum(place[axis] * place[2] for place in heavy) / whole for axis in (0, 1)], most / plain


def mark(page, place):
    """Press a place, and say that the lump is there once the tool rests on it."""
    for _ in range(10):
        page.press(*place, 0.3)
        begun = time.monotonic()
        while page.js(HELD) and time.monotonic() - begun < 5:
            at = page.js("palpate.seen.state.master.position_m")
            if math.dist(at[:2], place) < RESTS_M and page.force() > TOUCH_N:
                page.page.keyboard.press("m")
                return
            time.sleep(0.05)
        page.let_go()
    hold(False, f"the tool rests at {place}")


def find_lump(arguments, page, record, numbers):
    hold(page.js("palpate.practice.now.scene") == "layered", "it begins with the scene that the README says")
    page.page.click("#begin-find-lump")
    page.until("palpate.practice.now.task?.name === 'find-lump'", "the task begins", 60)
    words = page.page.text_content("#task")
    hold("stiff lump is hidden" in words and "Mark here" in words, f"the page says what to do: {words}")
    told = page.js("JSON.stringify(palpate.practice.now.task)")
    hold(not page.js("palpate.stiffnessMap.hidden"), "what was felt is painted")
    page.until("/4 min|5 min/.test(document.getElementById('task-left').textContent)", "the time that is left is told")
    hold("lumps" not in told and "center_m" not in told, f"the truth is not told before the answer: {told}")
    page.until("palpate.seen.state.master.tick < 60000 && palpate.scene.rest_m", "the scene is shown")
    ring(page, (0.0, 0.0))
    # a page that is lost goes on where the rehearsal is
    page.page.reload()
    page.until("window.palpate?.practice.now?.task?.name === 'find-lump'", "a page that is reloaded goes on", 60)
    page.until("palpate.seen.frames > 10 && palpate.scene.rest_m", "it is shown", 40)
    if "watching" in page.page.text_content("#role"):
        page.page.click("#operate")
    page.until("palpate.pointer.enabled", "it operates again")
    best, times = search(page)
    page.shot(Path(arguments.out, "lump-search.png"))
    mark(page, best)
    page.until("palpate.practice.now.task?.score", "the answer is scored")
    page.let_go()
    score = page.js("palpate.practice.now.task.score")
    [lump] = page.js("palpate.practice.now.task.lumps")
    off_m, text = dict(score["parts"])["off_m"], page.page.text_content("#task")
    numbers["lump"] = {"score": round(score["score"], 3), "off_mm": round(1e3 * off_m, 2), "times_as_stiff": round(times, 2),
                       "said_mm": [round(1e3 * m, 1) for m in best],
                       "radius_mm": 1e3 * lump["radius_m"], "true_mm": [round(1e3 * m, 1) for m in lump["center_m"]],
                       "time_s": round(score["time_s"], 1), "peak_n": round(score["peak_force_n"], 2)}
    hold(score["done"] and off_m <= lump["radius_m"] <= 0.006, f"who goes by the colours marks the lump itself: {numbers['lump']}")
    hold("ring shows it" in text, f"what was true is told then: {text}")
    time.sleep(0.5)
    page.shot(Path(arguments.out, "lump-found.png"))
    kept = [json.loads(line) for line in record.read_text().splitlines()]
    hold(len(kept) == 1 and kept[0]["attempt"]["task"] == "find-lump", f"the attempt is kept: {kept}")
    hold(kept[0]["attempt"]["score"]["score"] == score["score"], "with its score")
    hold(kept[0]["attempt"]["operator"] == "machine at the page", f"and as a machine's: {kept[0]['attempt']['operator']}")


def rank(arguments, page, numbers):
    choose(page, "sheet-fine")
    page.page.click("#begin-rank-stiffness")
    page.until("palpate.practice.now.task?.sites_m?.length === 3", "three places are asked about", 60)
    page.until("palpate.seen.state.master.tick < 60000", "the scene is shown")
    hold(page.js("palpate.stiffnessMap.hidden"), "no colours tell the answer")
    sites = page.js("palpate.practice.now.task.sites_m")
    felt = [ring(page, site) for site in sites]
    for site in sorted(range(3), key=lambda index: felt[index]):
        page.page.click(f"#site-{'ABC'[site]}")
    page.shot(Path(arguments.out, "rank.png"))
    page.page.click("#answer-rank")
    page.until("palpate.practice.now.task?.score", "the order is scored")
    numbers["rank"] = page.js("palpate.practice.now.task.score.score")
    hold(numbers["rank"] >= 2 / 3 - 1e-9, f"who goes by the force ranks two pairs of three: {numbers['rank']}, felt {felt}")
    page.shot(Path(arguments.out, "ranked.png"))


def grasp(arguments, page, numbers):
    choose(page, "flat-sheet")
    page.page.click("#begin-grasp")
    page.until("palpate.practice.now.tool === 'tweezers'", "tweezers are at hand", 60)
    page.until("palpate.seen.state.master.tick < 60000", "the scene is shown")
    page.press(0.03, 0.0, 0.5)
    page.page.keyboard.press("g")
    page.until("Math.abs(palpate.seen.state.master.port_force_n[3]) > 0.5", "the jaws hold")
    time.sleep(6)
    page.shot(Path(arguments.out, "grasp.png"))
    # the mouse is held over the tissue, and the button is reached by the keyboard
    page.page.focus("#finish")
    page.page.keyboard.press("Enter")
    page.until("palpate.practice.now.task?.score", "the grasp is scored")
    page.let_go()
    score = page.js("palpate.practice.now.task.score")
    numbers["grasp"] = score["score"]
    hold(score["score"] > 0.2, f"jaws that are closed for 6 s hold: {score}")


def rehearse(arguments, browser, numbers):
    out, record = Path(arguments.out, "rehearsal"), Path(arguments.out, "attempts.jsonl")
    record.unlink(missing_ok=True)
    flags = ["--console", "--duration", "1800", "--attempts", str(record)]
    command = (arguments.palpate, "rehearse", "--console-port", "0", "--out", str(out), *flags)
    with Served(*command) as session:
        page = Page(browser, session.url, arguments.page)
        page.until("window.palpate?.seen.frames > 10 && palpate.scene.rest_m && palpate.practice.now", "the page loads", 60)
        page.shot(Path(arguments.out, "first.png"))
        offered = page.js("palpate.practice.now.scenes.map(({name}) => name)")
        numbers["scenes"] = len(offered)
        page.press(0.0, 0.0, 1.0)
        numbers["force_n"] = round(page.force(), 2)
        page.let_go()
        find_lump(arguments, page, record, numbers)
        numbers["begins_s"] = {scene: choose(page, scene, arguments.out) for scene in SCENES}
        rank(arguments, page, numbers)
        grasp(arguments, page, numbers)
        hold(len(record.read_text().splitlines()) == 3, "every attempt is in the record")
        page.whole(session)
        page.end()
        code = session.end()
    summary = judged(out, code, numbers)
    numbers["servo"] = {key: summary["servo"][key] for key in
                        ("compute_us_p50", "compute_us_p999", "wake_us_p99", "late_ticks", "allocations", "bare_timer_us_p99")}
    report = Path(out, "report.html").read_text()
    hold("find-lump on layered" in report, "the report shows how attempts went on")
    hold(summary["servo"]["allocations"] == 0, "the servo thread allocates nothing")
    parts = sorted(path.name for path in out.iterdir() if path.is_dir())
    hold(all(Path(out, part, "report.html").exists() for part in parts), f"every scene has its report: {parts}")
    ended = [json.loads(Path(folder, "summary.json").read_text()) for folder in [out, *(Path(out, part) for part in parts)]]
    hold(all(one["trace_hash"] for one in ended), "each has the hash of its trace")
    hold(all(Path(out, part, "surface.ply").stat().st_size for part in [".", *parts]), "and the surface as it lay at the end")


if __name__ == "__main__":
    sys.exit(launched(rehearse))
