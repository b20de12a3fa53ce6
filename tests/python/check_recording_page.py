"""Opens recordings in a headless Chromium, as a person would who looks at them.

Usage: check_recording_page.py PALPATE --out DIR [--page FOLDER] [--chromium PATH] [--seconds S]

Records sessions with `palpate lab`, serves their folder with `palpate replay DIR --console`, opens one from the list, plays
it and sees the mesh move, goes to and fro and finds the same surface at the same moment, opens a second beside it, and one
without a twin. Screenshots and numbers go to DIR. Exit 1 and a sentence if anything does not hold.
"""

import signal
import subprocess
import time
from pathlib import Path

from browser import Page, Served, hold, launched

HASH = """(scene) => {
  let hash = 2166136261;
  for (const byte of new Uint8Array(scene.positions.array.buffer.slice(0))) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash;
}"""

# From the order to the frame of that moment and, if the surface is another then, to the surface, drawn [ms].
SEEKS = """async (moments) => {
  const { seen, link, scene } = palpate;
  const wait = () => new Promise((done) => setTimeout(done, 1));
  const all = [];
  for (const at_s of moments) {
    const begun = performance.now();
    const surfaces = seen.surfaces;
    const frames = seen.frames;
    await link.order({ do: "replay", what: { seek: at_s } });
    while (seen.frames === frames && performance.now() - begun < 5000) await wait();
    const framed = performance.now() - begun;
    while (seen.surfaces === surfaces && performance.now() - begun < 5000) await wait();
    all.push([framed, performance.now() - begun]);
  }
  return all;
}"""


def lab(palpate, out, *flags):
    command = [palpate, "lab", "--out", str(out), "-q", *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    hold(Path(out, "recording.mcap").exists(), f"{command} records: {done.stderr}")


def folder_as_it_is(folder):
    return {str(path): path.stat().st_mtime_ns for path in sorted(Path(folder).rglob("*"))}


def surface(page, which="palpate.scene"):
    return page.page.evaluate(f"() => ({HASH})({which})")


def seek(page, at_s):
    page.js(f"palpate.seen.recording.seek({at_s})")
    page.until(f"Math.abs(palpate.seen.recording.now.at_s - {at_s}) < 0.002 && palpate.seen.recording.wanted === null", f"it goes to {at_s} s")
    # the state and the surface of that moment are on their way behind it
    before, begun = None, time.monotonic()
    while (now := surface(page)) != before and time.monotonic() - begun < 30:
        before = now
        time.sleep(0.3)


def median(values):
    return sorted(values)[len(values) // 2]


def choose(page, name, beside=False):
    row = page.page.locator("#list li", has_text=name)
    row.get_by_role("button", name="Beside" if beside else "Open", exact=True).click()


def one(arguments, page, numbers):
    page.until("window.palpate?.seen.recording && document.querySelectorAll('#list li').length === 3", "the list is shown", 60)
    begun = time.monotonic()
    choose(page, "first")
    page.until("palpate.seen.recording.tables[0] && palpate.seen.frames > 0", "ticks and strips are there", 120)
    numbers["open_s"] = round(time.monotonic() - begun, 2)
    page.until("palpate.scene.rest_m?.length > 0", "the surface is there", 60)
    numbers["first_surface_s"] = round(time.monotonic() - begun, 2)
    page.until("palpate.seen.recording.now.done[0]", "the surface is made to the end", 600)
    numbers["whole_surface_s"] = round(time.monotonic() - begun, 2)
    page.until("palpate.seen.recording.open[0].film.done", "the page is told how it compares")
    film = page.js("palpate.seen.recording.open[0].film")
    hold(film["different"] == 0 and film["ticks"] > 1000, f"the tissue is made again bit by bit: {film}")
    numbers["film"] = film
    numbers["nodes"] = page.js("palpate.scene.rest_m.length / 3")

    # slowly, so that a busy machine does not come to the end of it
    page.page.locator("#speed").fill("1")
    page.until("palpate.seen.recording.now.speed === 0.25", "it is to go slowly")
    page.page.click("#play")
    page.until("palpate.seen.recording.now.playing", "it plays")
    seen, at_s, began = set(), [0], time.monotonic()
    while (len(seen) < 8 or at_s[-1] < 0.8) and time.monotonic() - began < 60:
        seen.add(surface(page))
        at_s.append(page.js("palpate.seen.recording.now.at_s"))
    hold(len(seen) >= 8, f"the mesh moves while it plays: {len(seen)} pictures")
    hold(at_s == sorted(at_s) and at_s[-1] >= 0.8, f"time goes on: {at_s[0]} to {at_s[-1]}")
    page.page.locator("body").press("Space")
    page.until("!palpate.seen.recording.now.playing", "the space bar lets it stand still")
    page.page.locator("#speed").fill("3")

    # where it is pressed hardest, and back
    deepest = page.js("(() => { const table = palpate.seen.recording.tables[0]; let best = 0;"
                      " table.hand_n.forEach((n, row) => { if (n > table.hand_n[best]) best = row; }); return table.time_s[best]; })()")
    seek(page, deepest)
    pressed = surface(page)
    force = page.force()
    hold(force > 0.5, f"something is pressed at {deepest} s: {force} N")
    page.shot(Path(arguments.out, "recording.png"))
    seek(page, 0)
    rest = surface(page)
    hold(rest != pressed, "another moment is another surface")
    page.page.screenshot(path=Path(arguments.out, "recording-begin.png"))
    seek(page, deepest)
    hold(surface(page) == pressed, "the same moment is the same surface, come to from before")
    seek(page, page.js("palpate.seen.recording.now.to_s"))
    seek(page, deepest)
    hold(surface(page) == pressed and abs(page.force() - force) < 1e-12, "and from behind")

    page.js("document.activeElement.blur()")
    before = page.js("palpate.seen.recording.now.at_s")
    page.page.locator("body").press("ArrowRight")
    page.until(f"Math.abs(palpate.seen.recording.now.at_s - {before} - 0.1) < 0.002", "the right arrow goes on by 0.1 s")
    page.page.locator("body").press("Shift+ArrowLeft")
    page.until(f"Math.abs(palpate.seen.recording.now.at_s - {before} + 0.9) < 0.002", "the left one, with Shift, back by 1 s")
    box = page.page.locator("#timeline").bounding_box()
    page.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.until("Math.abs(palpate.seen.recording.now.at_s / palpate.seen.recording.now.to_s - 0.5) < 0.02", "the time line is pressed")

    length = page.js("palpate.seen.recording.now.to_s")
    moments = [(0.137 + 0.618 * n) % 1 * 0.9 * length + 0.05 * length for n in range(30)]
    took = page.page.evaluate(SEEKS, moments)
    numbers["seek_ms_p50_max"] = [round(f([row[0] for row in took]), 1) for f in (median, max)]
    numbers["seek_to_surface_ms_p50_max"] = [round(f([row[1] for row in took]), 1) for f in (median, max)]
    return deepest, pressed


def two(arguments, page, numbers, first):
    deepest, pressed = first
    begun = time.monotonic()
    choose(page, "second", beside=True)
    page.until("palpate.seen.recording.tables[1] && palpate.seen.recording.now.done[1]", "a second one is opened", 600)
    numbers["second_whole_s"] = round(time.monotonic() - begun, 2)
    page.until("palpate.seen.recording.beside.rest_m?.length > 0", "its surface is there")
    page.page.click("#align")
    page.until("palpate.seen.recording.now.offset_s !== 0", "their first touches are aligned")
    numbers["offset_s"] = page.js("palpate.seen.recording.now.offset_s")
    seek(page, deepest)
    hold(surface(page) == pressed, "the first is as it was")
    hold(surface(page, "palpate.seen.recording.beside") != surface(page), "the second is another")
    heads = page.js("[...document.querySelectorAll('.strip h2')].map((it) => it.textContent)")
    hold(len(heads) == 4 and all("B − A" in head for head in heads), f"the strips have the difference: {heads}")
    time.sleep(0.5)
    page.shot(Path(arguments.out, "recording-beside.png"))
    offset = page.page.locator("#offset")
    offset.fill("0.5")
    offset.press("Enter")
    page.until("Math.abs(palpate.seen.recording.now.offset_s - 0.5) < 1e-9", "an offset is set by hand")
    choose(page, "waves", beside=True)
    page.until("document.getElementById('of-1').textContent.includes('tool and forces only')", "one without a twin says so", 60)
    seek(page, deepest)
    page.shot(Path(arguments.out, "recording-without-twin.png"))
    page.page.click("#close-beside")
    page.until("document.body.dataset.beside === 'false'", "it is closed")


def both(arguments, browser, numbers):
    out = Path(arguments.out)
    runs = out / "runs"
    runs.mkdir(exist_ok=True)
    length = ["--duration", str(arguments.seconds)]
    lab(arguments.palpate, runs / "first", *length, "--rtt-ms", "60")
    lab(arguments.palpate, runs / "second", *length, "--rtt-ms", "300", "--jitter-ms", "20", "--loss", "0.05", "--seed", "5")
    lab(arguments.palpate, runs / "waves", *length, "--mode", "wave")
    numbers |= {"seconds": arguments.seconds, "bytes": (runs / "first/recording.mcap").stat().st_size}
    before = folder_as_it_is(runs)
    with Served(arguments.palpate, "replay", str(runs), "--console", "--console-port", "0") as served:
        page = Page(browser, served.url, arguments.page)
        first = one(arguments, page, numbers)
        two(arguments, page, numbers, first)
        tablet = Page(browser, served.url, arguments.page, size=(820, 1180), dark=True)
        tablet.until("palpate.seen.recording?.tables[0] && palpate.scene.rest_m?.length > 0", "a second page finds the same", 60)
        hold(surface(tablet) == surface(page), "both pages show one surface")
        time.sleep(0.5)
        tablet.shot(out / "recording-tablet.png")
        for one_page in (page, tablet):
            one_page.whole(served)
        served.process.send_signal(signal.SIGINT)
        numbers["exit"] = served.end()
    hold(numbers["exit"] == 0, f"Ctrl-C ends it well: {numbers['exit']}")
    hold(folder_as_it_is(runs) == before, "nothing is written")


if __name__ == "__main__":
    # length of the recordings that are made [s]
    launched(both, seconds=6.0)
