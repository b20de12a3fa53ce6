"""Reads what `--foxglove` serves, with nothing but a socket: server info, channels, messages that decode.

Usage: check_foxglove.py PALPATE --out DIR

Of a live session (`palpate run --foxglove`) and of a recording (`palpate replay --console --foxglove`). CDR is decoded from the
schemas that the server sends, by mcap-ros2-support; the scene by the wire format of protobuf. Exit 1 and a sentence if
anything does not hold.
"""

import argparse
import base64
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory

PROTOCOL = "foxglove.sdk.v1"
LAYOUTS = Path(__file__).parent.parent.parent / "docs/foxglove"


def hold(condition, what):
    if not condition:
        sys.exit(f"does not hold: {what}")


class Viewer:
    """A viewer of Foxglove's protocol."""

    def __init__(self, address, protocol=PROTOCOL, more=""):
        port, token = address
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                             f"Sec-WebSocket-Protocol: {protocol}\r\n{more}\r\n").encode())
        self.left = b""
        while b"\r\n\r\n" not in self.left:
            more = self.socket.recv(4096)
            hold(more, f"the server answers: {self.left!r}")
            self.left += more
        head, self.left = self.left.split(b"\r\n\r\n", 1)
        self.status = int(head.split()[1])
        self.head = head.decode().lower()
        self.channels, self.info, self.time_ns, self.messages = {}, None, None, {}

    def take(self, count):
        while len(self.left) < count:
            more = self.socket.recv(1 << 16)
            hold(more, "the server goes on")
            self.left += more
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def send(self, opcode, payload):
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | len(payload)]) if len(payload) < 126 else bytes([0x80 | 126]) + struct.pack(">H", len(payload))
        self.socket.sendall(head + bytes(4) + payload)

    def step(self):
        """Take one frame."""
        first, second = self.take(2)
        length = second & 0x7F
        if length == 126:
            length = struct.unpack(">H", self.take(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.take(8))[0]
        payload = self.take(length)
        if first & 0xF == 1:
            said = json.loads(payload)
            if said["op"] == "serverInfo":
                self.info = said
            elif said["op"] == "advertise":
                self.channels.update({channel["topic"]: channel for channel in said["channels"]})
        elif first & 0xF == 2 and payload[0] == 1:
            subscription, log_ns = struct.unpack("<IQ", payload[1:13])
            self.messages.setdefault(subscription, []).append((log_ns, payload[13:]))
        elif first & 0xF == 2 and payload[0] == 2:
            self.time_ns = struct.unpack("<Q", payload[1:9])[0]
        elif first & 0xF == 9:
            self.send(10, payload)

    def until(self, check, what, seconds=30):
        begun = time.monotonic()
        while not check():
            hold(time.monotonic() - begun < seconds, f"{what} within {seconds} s")
            self.step()

    def subscribe(self, topics):
        """Subscriptions by topic."""
        numbers = {topic: n + 1 for n, topic in enumerate(topics)}
        wanted = [{"id": n, "channelId": self.channels[topic]["id"]} for topic, n in numbers.items()]
        self.send(1, json.dumps({"op": "subscribe", "subscriptions": wanted}).encode())
        return numbers


def cdr(channel, payload):
    text = channel["schema"].encode()
    schema = Schema(id=1, name=channel["schemaName"], encoding="ros2msg", data=text)
    return DecoderFactory().decoder_for("cdr", schema)(payload)


def fields(payload):
    """Fields of a protobuf message: number and value."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = payload[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(payload):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 1:
            yield key >> 3, struct.unpack("<d", payload[at:at + 8])[0]
            at += 8
        elif kind == 2:
            length = varint()
            yield key >> 3, payload[at:at + length]
            at += length
        else:
            yield key >> 3, payload[at:at + 4]
            at += 4


def scene(payload):
    """Entities by their id: places of the nodes and number of faces of their triangles, and numbers of balls and arrows."""
    found = {}
    for number, entity in fields(payload):
        hold(number == 2, f"a scene has entities: {number}")
        parts = list(fields(entity))
        name = next(value for number, value in parts if number == 3).decode()
        points, faces = [], 0
        for triangles in (value for number, value in parts if number == 12):
            for number, value in fields(triangles):
                if number == 2:
                    point = dict(fields(value))
                    points.append(tuple(point.get(axis, 0.0) for axis in (1, 2, 3)))
                elif number == 5:
                    faces += len(value) // 12
        found[name] = {"points": points, "faces": faces, "balls": sum(number == 9 for number, _ in parts),
                       "arrows": sum(number == 7 for number, _ in parts),
                       "frame": next(value for number, value in parts if number == 2)}
    return found


def look(address, below="", seconds=3):
    """What a viewer sees for a while, decoded."""
    viewer = Viewer(address)
    hold(viewer.status == 101 and PROTOCOL in viewer.head, f"the protocol is spoken: {viewer.head}")
    viewer.until(lambda: viewer.info, "server info")
    hold("time" in viewer.info["capabilities"] and "palpate" in viewer.info["name"], f"{viewer.info}")
    hold("clientPublish" not in viewer.info["capabilities"], f"a viewer may change nothing: {viewer.info}")
    wanted = [f"{below}{topic}" for topic in ("/palpate/master/tick", "/palpate/slave/tick", "/palpate/master/measured_cp", "/palpate/slave/measured_cp",
                                              "/palpate/master/measured_cf", "/palpate/slave/measured_cf",
                                              "/palpate/scene")]
    viewer.until(lambda: all(topic in viewer.channels for topic in wanted), f"channels {wanted}")
    numbers = viewer.subscribe(wanted)
    begun = time.monotonic()
    viewer.until(lambda: time.monotonic() - begun > seconds, "time passes", seconds + 20)
    seen = {topic: viewer.messages.get(number, []) for topic, number in numbers.items()}
    for topic in wanted:
        hold(len(seen[topic]) > 2, f"messages come on {topic}: {len(seen[topic])}")
        rate = len(seen[topic]) / seconds
        hold(rate < 70, f"their rate is bounded: {rate} /s on {topic}")
    decoded = {topic: [(ns, cdr(viewer.channels[topic], payload)) for ns, payload in seen[topic]] for topic in wanted[:6]}
    ticks = [tick.tick for _, tick in decoded[wanted[0]]]
    pose = decoded[wanted[2]][-1][1]
    hold(pose.header.frame_id == "world", f"{pose.header}")
    by_time = {ns: tick for ns, tick in decoded[wanted[0]]}
    for ns, wrench in decoded[wanted[4]]:
        if ns in by_time:
            hold(wrench.wrench.force.z == -by_time[ns].port_force_n[2], "pose, force and tick are of one tick")
    scenes = [scene(payload) for _, payload in seen[wanted[6]]]
    hold(scenes[-1]["tool"]["balls"] == 1 and scenes[-1]["tool"]["frame"] == b"world", f"a tool is seen: {scenes[-1].keys()}")
    hold(viewer.time_ns, "the server tells the time")
    viewer.socket.close()
    return {"ticks": [ticks[0], ticks[-1]], "messages": {topic: len(rows) for topic, rows in seen.items()}, "scenes": scenes,
            "channels": viewer.channels, "decoded": decoded}


def layouts(known):
    """Every topic and field that the layouts name is there."""
    for path in sorted(LAYOUTS.glob("*.json")):
        layout = json.loads(path.read_text())
        for panel in layout["configById"].values():
            for topic in panel.get("topics", {}):
                hold(topic in known["channels"], f"{path.name}: {topic}")
            for line in panel.get("paths", []):
                topic, field = line["value"].split(".", 1)
                hold(topic in known["decoded"], f"{path.name}: {topic}")
                value = known["decoded"][topic][-1][1]
                for name, index in re.findall(r"(\w+)(?:\[(\d+)\])?", field):
                    value = getattr(value, name, None)
                    hold(value is not None, f"{path.name}: {line['value']}")
                    value = value[int(index)] if index else value
                hold(isinstance(value, (int, float)), f"{path.name}: {line['value']} is {value!r}")


class Served:
    """A command that serves viewers."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said, self.address = "", None
        while not self.address:
            line = self.process.stderr.readline()
            hold(line, f"the address is printed: {self.said}")
            self.said += line
            found = re.search(r"ws://127.0.0.1:(\d+)/(\w+)", line)
            self.address = (int(found.group(1)), found.group(2)) if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.communicate(timeout=120)


def moved(scenes):
    points = [found["tissue"]["points"] for found in scenes if found.get("tissue")]
    return max((abs(a[2] - b[2]) for first, last in zip(points, points[1:]) for a, b in zip(first, last)), default=0.0)


def live(arguments, numbers):
    out = Path(arguments.out, "foxglove-run")
    with Served(arguments.palpate, "run", "--duration", "12", "--console-port", "0", "--foxglove", "0", "--out", str(out)) as served:
        known = look(served.address, seconds=6)
        hold(known["ticks"][1] > known["ticks"][0] + 2000, f"time goes on: {known['ticks']}")
        hold(known["scenes"][-1]["tissue"]["faces"] > 50, "the surface of the twin is seen without a page")
        served.process.communicate(timeout=120)
    summary = json.loads((out / "summary.json").read_text())
    hold(summary["servo"]["allocations"] == 0, "the servo threads allocate nothing")
    numbers["live"] = {"messages": known["messages"], "moved_m": moved(known["scenes"])}


def replayed(arguments, numbers):
    runs = [Path(arguments.out, "foxglove", name) for name in ("one", "two")]
    for seed, run in enumerate(runs):
        subprocess.run([arguments.palpate, "lab", "--duration", "5", "-q", "--seed", str(seed), "--out", str(run)], capture_output=True)
    command = [arguments.palpate, "replay", *map(str, runs), "--console", "--console-port", "0", "--foxglove", "0"]
    with Served(*command) as served:
        refused = Viewer(served.address, "another")
        hold(refused.status >= 400, f"another protocol is refused: {refused.status}")
        for address, more in [((served.address[0], "0" * 32), ""), (served.address, "Origin: http://evil.example\r\n")]:
            refused = Viewer(address, more=more)
            hold(refused.status == 403, f"another token, or the page of another host, is refused: {refused.status}")
        known = resting(served.address)
        layouts(known)
        numbers["replay"] = {"faces": known["scenes"][-1]["tissue"]["faces"], "time_ns": known["ticks"]}


def resting(address):
    """A recording that stands still is told as well: to who comes later, once."""
    viewer = Viewer(address)
    viewer.until(lambda: "/beside/palpate/scene" in viewer.channels and "/palpate/scene" in viewer.channels, "channels of both")
    numbers = viewer.subscribe(sorted(viewer.channels))
    topics = {number: topic for topic, number in numbers.items()}
    need = set(numbers.values())
    viewer.until(lambda: need <= set(viewer.messages), "every channel of both tells where it stands", 90)

    def faces():
        newest = viewer.messages[numbers["/palpate/scene"]][-1][1]
        return scene(newest)["tissue"]["faces"]

    viewer.until(lambda: faces() > 50, "the surface is told when it is made", 120)
    viewer.until(lambda: viewer.time_ns is not None, "the time is told")
    decoded = {topic: [(ns, cdr(viewer.channels[topic], payload)) for ns, payload in viewer.messages[number]]
               for number, topic in topics.items() if not topic.endswith("scene")}
    scenes = [scene(payload) for _, payload in viewer.messages[numbers["/palpate/scene"]]]
    viewer.socket.close()
    return {"channels": viewer.channels, "decoded": decoded, "scenes": scenes, "ticks": [viewer.time_ns]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("palpate")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    numbers = {}
    replayed(arguments, numbers)
    live(arguments, numbers)
    print(json.dumps(numbers))


if __name__ == "__main__":
    main()
