"""Drives the console's page in a headless Chromium while `palpate run` works, as a person would.

Usage: check_console.py PALPATE --out DIR [--page FOLDER] [--chromium PATH]

Loads the page, presses with the mouse until more than 1 N is felt, sees the mesh move, watches from a
second page, changes the delay, reloads, stops by the button, and reads from the recording when the robot
stood. Hands a robot over between two masters. Screenshots and numbers go to DIR. Exit 1 and a sentence if anything does not hold.
"""

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from browser import Page, Session, hold, judged, launched

STOP_MS = 50
HALT = 1 << 6
# what the page shows of a robot's side whose tissue has collapsed
COLLAPSED = """(async () => {
    const { Controls } = await import(new URL("controls.js", document.baseURI));
    const { seen, pointer } = palpate;
    const slave = { ...seen.state.slave, spoken: 1, ordered: 1, state: 3, events: 1 << 14 };
    const held = { pointer, rates: {}, rate: Controls.prototype.rate };
    Controls.prototype.state.call(held, { ...seen.state, slave }, seen);
    const pill = document.getElementById("slave-state");
    return [pill.textContent, pill.dataset.mood];
})()"""


def stand_still(out):
    """From when the stop was heard: to the first halted tick of the robot [ms], and how far it went after 50 ms [mm]."""
    log = json.loads(Path(out, "console.json").read_text())
    heard = next(entry["at_ns"] for entry in log if entry["order"] == {"do": "stop"})
    halted, since, way, first = None, None, 0.0, None
    with open(Path(out, "recording.mcap"), "rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for _, _, _, tick in reader.iter_decoded_messages(topics=["/palpate/slave/tick"]):
            if tick.now_ns < heard:
                continue
            if halted is None and tick.given & HALT:
                halted = tick.now_ns
            if halted is None or tick.now_ns < heard + STOP_MS * 1_000_000 or tick.now_ns > heard + 10**9:
                continue
            place = list(tick.position_m)[:3]
            first = first or place
            way = max(way, sum((a - b) ** 2 for a, b in zip(place, first)) ** 0.5)
    hold(halted, "the recording has a halted tick of the robot")
    return (halted - heard) / 1e6, 1e3 * way


# event bit of frames that are too old
STALE = 32
# distance between hand and robot
OFFSET_MM = "1e3 * Math.hypot(...[0, 1, 2].map((n) => palpate.seen.state.master.position_m[n] - palpate.seen.state.slave.position_m[n]))"


def palpate_and_stop(arguments, browser, numbers):
    out = Path(arguments.out, "session")
    with Session(arguments.palpate, out, "--operator", "pointer", "--duration", "240") as session:
        with_pages(arguments, browser, numbers, (session, out))


def with_pages(arguments, browser, numbers, of):
    session, out = of
    first = Page(browser, session.url, arguments.page)
    began = time.monotonic()
    first.until("window.palpate?.seen.frames > 10 && palpate.scene.rest_m", "the page loads and shows frames", 40)
    numbers["load_s"] = round(time.monotonic() - began, 2)
    first.until("palpate.seen.state.slave.spoken === 1", "both sides are shown", 40)
    rest = first.js("palpate.scene.positions.array.reduce((low, z, at) => at % 3 == 2 ? Math.min(low, z) : low, 1)")
    shown = first.js(COLLAPSED)
    hold(shown == ["slave fault: tissue collapsed, rebuilt", "bad"], f"a tissue that collapses is named: {shown}")
    first.press(0.0, 0.0, 1.0)
    numbers["force_n"] = round(first.force(), 2)
    first.until("palpate.scene.positions.array.some((z, at) => at % 3 == 2 && palpate.scene.rest_m[at] - z > 0.001)",
                "the mesh moves")
    time.sleep(1)
    first.shot(Path(arguments.out, "press.png"))
    numbers["page"] = first.numbers()
    first.let_go()
    first.until("Math.hypot(...palpate.seen.state.master.port_force_n) < 0.05", "a handle that is let go gives no force")

    # a browser that draws without a graphics card leaves little of a small machine for two pages, so they are small
    first.page.set_viewport_size({"width": 800, "height": 600})
    second = Page(browser, session.url, arguments.page, size=(320, 240), dark=True)
    second.until("window.palpate?.seen.frames > 10", "a second page is served", 40)
    second.until("document.getElementById('role').textContent.startsWith('watching')", "the second page watches")
    ask = "palpate.link.order({do: 'impedance', nspm: 5}).then((text) => text, (refusal) => refusal.message)"
    said = next((said for said in (second.js(ask) for _ in range(5)) if "connect" not in said), "no connection")
    hold("you watch" in said, f"the second page may not change anything: {said}")

    first.press(0.018, 0.0, 1.0)
    slider = first.page.locator("#delay")
    slider.evaluate("(it) => { it.value = 150; it.dispatchEvent(new Event('input')); it.dispatchEvent(new Event('change')); }")
    first.until("palpate.seen.state.master.rtt_s > 0.27", "a longer delay is felt")
    second.until("palpate.seen.state.master.rtt_s > 0.27", "the second page sees it as well")
    second.page.set_viewport_size({"width": 820, "height": 1180})
    second.shot(Path(arguments.out, "tablet.png"))
    second.page.set_viewport_size({"width": 320, "height": 240})
    slider.evaluate("(it) => { it.value = 10; it.dispatchEvent(new Event('change')); }")
    first.until("palpate.seen.state.master.rtt_s < 0.1", "a shorter one too")
    first.page.locator("#mode").select_option("wave")
    first.until("palpate.seen.state.master.mode === 2", "the master goes over to waves")
    first.until("palpate.seen.state.slave.mode === 2", "and the robot, as is shown of it")
    first.page.locator("#mode").select_option("mmt")
    first.until("palpate.seen.state.master.mode !== 2", "and back")
    first.let_go()

    first.page.reload()
    first.until("window.palpate?.seen.frames > 10 && palpate.scene.rest_m", "a page that is reloaded goes on", 40)
    first.until("/operator|watching/.test(document.getElementById('role').textContent)", "it is told its role")
    shown = first.js("[document.getElementById('delay').value, document.getElementById('mode').value]")
    hold(shown == ["10", "mmt"], f"the controls show what is true now, not what the session began with: {shown}")
    if "watching" in first.page.text_content("#role"):
        first.page.click("#operate")
    first.until("palpate.pointer.enabled", "it operates again")
    first.press(-0.01, 0.0, 1.0)
    here = first.at(0.03, 0.0)
    first.page.mouse.move(*here, steps=4)
    # a stop needs no network
    first.js("palpate.link.order({do: 'link', loss: 1})")
    first.until(f"palpate.seen.state.slave.events & {STALE} && palpate.seen.state.master.events & {STALE}", "no frames arrive")
    first.page.keyboard.press("Escape") if arguments.keyboard else second.page.click("#stop")
    second.until("palpate.seen.state.slave.ordered === 0 && palpate.seen.state.master.ordered === 0", "both sides stop")
    first.until("document.getElementById('slave-state').textContent.includes('stopped')", "the page says so")
    first.until("!document.getElementById('halted').hidden && !palpate.pointer.held", "the view says so, and the handle is released")
    first.shot(Path(arguments.out, "stopped.png"))
    first.js("palpate.link.order({do: 'link', loss: 0})")
    first.until(f"!(palpate.seen.state.master.events & {STALE})", "frames arrive again")
    stood = first.js("palpate.seen.state.master.position_m")
    for x_m in (-0.03, 0.0, 0.03):
        first.page.mouse.move(*first.at(x_m, 0.01), steps=4)
        time.sleep(0.3)
    now = first.js("palpate.seen.state.master.position_m")
    hold(stood == now, f"a stopped hand does not move with the pointer: {stood} {now}")
    numbers["offset_at_stop_mm"] = round(first.js(OFFSET_MM), 2)
    first.let_go()
    first.page.click("#enable")
    first.until("palpate.seen.state.slave.ordered === 1", "they are enabled again")
    said = first.page.text_content("#notice")
    hold(numbers["offset_at_stop_mm"] < 0.05 or "mm to the robot" in said, f"Enable says the offset: {said}")
    first.until(f"{OFFSET_MM} < 0.2", "the hand is where the robot is")
    first.until("document.getElementById('halted').hidden", "the view shows the halt no longer")
    numbers["offset_after_enable_mm"] = round(first.js(OFFSET_MM), 2)
    first.press(0.0, 0.0, 0.5)
    first.let_go()
    for page in (first, second):
        page.whole(session)
    first.end()
    code = session.end()
    summary = judged(out, code, numbers)
    servo = summary["servo"]
    hold(servo["late_ticks"] == sum(servo["late_causes"].values()), f"each late tick has its cause: {servo}")
    numbers["servo"] = {key: summary["servo"][key] for key in ("compute_us_p999", "wake_us_p99", "late_ticks", "allocations")}
    numbers["stop_to_halt_ms"], numbers["way_after_50_ms_mm"] = (round(x, 3) for x in stand_still(out))
    hold(summary["servo"]["allocations"] == 0, "the servo threads allocate nothing")
    hold(summary["passivity"]["violations"] == 0, "the channel makes no energy")
    hold(numbers["stop_to_halt_ms"] <= STOP_MS, f"the robot halts in {STOP_MS} ms: {numbers['stop_to_halt_ms']}")
    hold(numbers["way_after_50_ms_mm"] < 1, f"it stands then: {numbers['way_after_50_ms_mm']} mm")
    hold(first.page.text_content("#connection") == "ended", "the page says that it ended")
    hold(str(out.resolve()) in first.page.text_content("#over"), "and where its files are")


def free_port():
    """A port that is free, and the one above it."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 1))
                return port
            except (OSError, OverflowError):
                continue


def listens(port, process, seconds=30):
    """Wait until somebody listens."""
    begun = time.monotonic()
    while True:
        hold(process.poll() is None, f"it runs: {process.returncode}")
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            hold(time.monotonic() - begun < seconds, f"something listens on port {port} within {seconds} s")
            time.sleep(0.05)


def alone(arguments, browser, numbers):
    """The console of `palpate master`, whose remote side is a process that it has no line to."""
    out, slave_out = Path(arguments.out, "master"), Path(arguments.out, "slave")
    port = free_port()
    ends = ["--set", f"network.port={port}"]
    slave = subprocess.Popen([arguments.palpate, "slave", *ends, "--duration", "600", "--out", str(slave_out)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        listens(port + 1, slave)
        with Session(arguments.palpate, out, *ends, "--operator", "pointer", "--duration", "600", command="master") as session:
            page = Page(browser, session.url, arguments.page)
            page.until("window.palpate?.seen.frames > 10 && palpate.scene.rest_m", "the master's own page shows frames", 60)
            hold(page.js("document.getElementById('network').hidden"), "a network that is not ours is not offered")
            page.press(0.0, 0.0, 0.5)
            page.page.locator("#impedance").evaluate(
                "(it) => { it.value = 1.5; it.dispatchEvent(new Event('input')); it.dispatchEvent(new Event('change')); }")
            page.until("Math.abs(palpate.seen.state.master.impedance_nspm - 32) < 0.5", "the impedance is changed live")
            told = page.js("Object.fromEntries([...document.querySelectorAll('#numbers dt')].map((name) =>"
                           " [name.textContent, name.nextSibling.textContent]))")
            hold(all("/ –" in told[name] for name in ("frames received", "tick rate")), f"numbers of the other side are missing: {told}")
            page.shot(Path(arguments.out, "master.png"))
            page.let_go()
            asked = page.js("palpate.link.order({do: 'mode', mode: 'wave'}).then((text) => text, (refusal) => refusal.message)")
            hold("another host" in asked, f"a mode that only one side would know is refused: {asked}")
            page.page.keyboard.press("Escape")
            page.until("palpate.seen.state.master.ordered === 0", "the master stops")
            page.until("document.getElementById('notice').textContent.includes('slave')", "and the slave says that it does")
            page.page.click("#enable")
            page.until("palpate.seen.state.master.ordered === 1", "it is enabled again")
            page.press(0.01, 0.0, 0.5)
            page.let_go()
            hold(not page.errors, f"no page breaks: {page.errors}")
            page.end()
            ended = numbers["master"] = {}
            judged(out, session.end(), ended)
            log = json.loads(Path(out, "console.json").read_text())
            hold({"do": "stop"} in [entry["order"] for entry in log], "what was asked is kept")
            page.page.context.close()
    finally:
        slave.terminate()
        slave.wait()


def hand_over(arguments, browser, numbers):
    """A second master asks for the robot; its owner declines and then grants on the page; the next one resumes motion."""
    port = free_port()
    ends = ["--set", f"network.port={port}", "--tissue", "sheet-lump", "--twin", "sheet"]
    out = lambda name: Path(arguments.out, name)
    asked = "!document.getElementById('handover').hidden"
    slave = subprocess.Popen([arguments.palpate, "slave", *ends, "--until-stopped", "--out", str(out("robot"))],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    master = lambda name, *more: Session(arguments.palpate, out(name), *ends, "--until-stopped", *more, command="master")
    try:
        listens(port + 1, slave)
        with master("owner") as owner:
            page = Page(browser, owner.url, arguments.page, size=(900, 700))
            page.until("window.palpate?.seen.frames > 10", "the owner's page shows frames", 60)
            hold(not page.js(asked), "nobody asks yet")
            with master("declined", "--ask-handover", "60") as other:
                page.until(asked, "the owner's page shows the request")
                said = page.page.text_content("#handover-words")
                hold("process" in said and "asks for the robot" in said, f"it names who asks: {said}")
                page.shot(out("asked.png"))
                page.page.click("#handover-decline")
                hold(other.end() == 3, "the side that asked ends with status 3")
                hold("declined" in other.stderr, f"and says why: {other.stderr}")
            page.until(f"!({asked})", "the request is gone")
            with master("successor", "--ask-handover", "60") as successor:
                page.until(asked, "another one asks")
                page.page.click("#handover-grant")
                code = owner.end()
                page.until("document.getElementById('connection').textContent === 'ended'", "the owner's page says that it ended")
                summary = judged(out("owner"), code, numbers.setdefault("handed_over", {}))
                hold("robot handed over to" in str(summary["safety"]["faults"]), "and its summary to whom")
                later = Page(browser, successor.url, arguments.page, size=(900, 700))
                later.until("window.palpate?.seen.frames > 10 && palpate.seen.state.master.received > 100", "the next owner's page shows frames", 60)
                later.until("document.getElementById('halted').textContent.startsWith('Paused')", "motion starts paused")
                later.shot(out("successor.png"))
                later.page.click("#resume")
                later.until("document.getElementById('notice').textContent.includes('slave ENABLED')", "the robot is enabled by the page")
                later.until("palpate.seen.state.master.ordered === 1", "and the hand")
                successor.process.send_signal(signal.SIGINT)
                successor.end()
                for one in (page, later):
                    hold(not one.errors, f"no page breaks: {one.errors}")
                    one.page.context.close()
    finally:
        slave.terminate()
        slave.wait()


def both(arguments, browser, numbers):
    palpate_and_stop(arguments, browser, numbers)
    replay(arguments, numbers)
    alone(arguments, browser, numbers)
    hand_over(arguments, browser, numbers)


def replay(arguments, numbers):
    """What was changed live is in the recording: it is the same again, bit by bit."""
    again = subprocess.run([arguments.palpate, "replay", str(Path(arguments.out, "session", "recording.mcap")), "--out",
                            str(Path(arguments.out, "again"))], capture_output=True, text=True)
    numbers["replay_exit"] = again.returncode
    hold(again.returncode == 0, f"a session that was changed live is replayed bit by bit: {again.stdout}{again.stderr}")


if __name__ == "__main__":
    launched(both)
