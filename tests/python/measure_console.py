"""Measures what pages cost a session: servo statistics and the console's CPU time with 0, 1 and 5 pages, one stalled.

Usage: measure_console.py PALPATE --out DIR [--seconds S] [--pages 0,1,5]

A page here is a plain socket that reads all it is sent, or, the last of several, one that reads nothing: what a browser
needs for drawing is not the console's. Prints one line of JSON for each session, beside the bare timer of the same run.
"""

import argparse
import base64
import json
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path
from urllib.parse import urlparse

KEYS = ("compute_us_p50", "compute_us_p999", "compute_us_max", "wake_us_p99", "late_ticks", "allocations", "bare_timer_us_p99")


def page(url):
    """A WebSocket to the console, upgraded; what comes is left unread."""
    where = urlparse(url)
    stream = socket.create_connection((where.hostname, where.port))
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall((
        f"GET {where.path}live HTTP/1.1\r\nHost: {where.netloc}\r\nOrigin: http://{where.netloc}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
    assert b" 101 " in stream.recv(256)
    return stream


def drain(stream, count):
    try:
        while block := stream.recv(1 << 16):
            count[0] += len(block)
    except OSError:
        pass


def cpu_s(pid):
    """CPU time of the console's threads in the supervisor and in both sides [s]."""
    total = {}
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    for process in [str(pid), *children]:
        for task in Path("/proc", process, "task").iterdir():
            try:
                fields = Path(task, "stat").read_text()
            except OSError:
                continue
            name, rest = fields[fields.index("(") + 1:fields.rindex(")")], fields[fields.rindex(")") + 2:].split()
            if name.startswith("console"):
                total[name] = total.get(name, 0) + (int(rest[11]) + int(rest[12])) / os.sysconf("SC_CLK_TCK")
    return {name: round(total[name], 2) for name in sorted(total)}


def session(arguments, pages):
    out = Path(arguments.out, f"pages-{pages}")
    command = [arguments.palpate, "run", "--console-port", "0", "--duration", str(arguments.seconds), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    url = re.search(r"http://\S+", process.stderr.readline()).group(0)
    time.sleep(2)
    streams, count = [page(url) for _ in range(pages)], [0]
    readers = streams if pages < 2 else streams[:-1]
    for stream in readers:
        threading.Thread(target=drain, args=(stream, count), daemon=True).start()
    time.sleep(arguments.seconds - 3)
    cpu = cpu_s(process.pid)
    process.communicate()
    servo = json.loads(Path(out, "summary.json").read_text())["servo"]
    numbers = {key: servo[key] for key in KEYS}
    print(json.dumps({"pages": pages, "stalled": int(pages > 1), "seconds": arguments.seconds, "exit": process.returncode,
                      **numbers, "console_cpu_s": cpu, "megabytes_read": round(count[0] / 1e6, 1)}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("palpate")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pages", default="0,1,5,0,1,5")
    arguments = parser.parse_args()
    for turn, pages in enumerate(arguments.pages.split(",")):
        arguments.out = str(Path(arguments.out).parent / f"{Path(arguments.out).name.split('+')[0]}+{turn}")
        session(arguments, int(pages))


main()
