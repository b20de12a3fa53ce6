#!/usr/bin/env python3
"""Open a recording with tools that are not ours, and count what is in it.

Usage: check_recording.py FILE.mcap [--ticks N] [--sides master,slave] [--require-ros2]

Reads FILE with the package `mcap`; with `mcap_ros2` installed (or demanded by --require-ros2) every
message is decoded too, and a few ticks are checked against the poses that repeat them. Exit 0 if
all is as expected, 1 if not (each reason on stderr), 2 for bad usage.
"""

import argparse
import sys
from collections import Counter

from mcap.reader import make_reader

try:
    from mcap_ros2.decoder import DecoderFactory
except ImportError:
    DecoderFactory = None

TICK = "palpate_msgs/msg/TickRecord"
POSE = "geometry_msgs/msg/PoseStamped"
WRENCH = "geometry_msgs/msg/WrenchStamped"
CHANNELS = {
    "master": {
        "/palpate/master/tick": TICK,
        "/palpate/master/measured_cp": POSE,
        "/palpate/master/measured_cf": WRENCH,
    },
    "slave": {
        "/palpate/slave/tick": TICK,
        "/palpate/slave/measured_cp": POSE,
        "/palpate/slave/measured_cf": WRENCH,
    },
}


def check_shape(reader, sides, ticks, wrong):
    """Profile, channels, counts, attachments: what every MCAP tool relies on."""
    header = reader.get_header()
    if header.profile != "ros2":
        wrong.append(f"profile is {header.profile!r}, expected 'ros2'")
    summary = reader.get_summary()
    if summary is None or summary.statistics is None:
        wrong.append("no summary section: the file was not finished")
        return
    found = {c.topic: c for c in summary.channels.values()}
    counts = {
        c.topic: summary.statistics.channel_message_counts.get(c.id, 0)
        for c in summary.channels.values()
    }
    for side in sides:
        for topic, schema_name in CHANNELS[side].items():
            if topic not in found:
                wrong.append(f"no channel {topic}")
                continue
            schema = summary.schemas[found[topic].schema_id]
            if (schema.name, schema.encoding) != (schema_name, "ros2msg"):
                wrong.append(f"{topic}: schema {schema.name} as {schema.encoding}")
            if found[topic].message_encoding != "cdr":
                wrong.append(f"{topic}: messages are {found[topic].message_encoding}")
            if counts[topic] < ticks:
                wrong.append(f"{topic}: {counts[topic]} messages, expected at least {ticks}")
        if len({counts.get(topic, 0) for topic in CHANNELS[side]}) != 1:
            wrong.append(f"{side}: channels of one side differ in length")
    for attachment in reader.iter_attachments():
        if not summary.statistics.message_start_time - 10**9 <= attachment.log_time <= summary.statistics.message_end_time:
            wrong.append(f"{attachment.name}: attached at {attachment.log_time} ns, outside the session")
    names = {a.name for a in reader.iter_attachments()}
    if "config.toml" not in names:
        wrong.append("no attachment config.toml")


def check_messages(reader, wrong):
    """Read every message; decode it where the ROS 2 decoder is at hand."""
    counts, last_tick = Counter(), {}
    if DecoderFactory is None:
        for _, channel, _ in reader.iter_messages():
            counts[channel.topic] += 1
        return counts
    epoch_ns = next(int(one.metadata["epoch_ns"]) for one in reader.iter_metadata() if one.name == "palpate")
    for _, channel, record, message in reader.iter_decoded_messages():
        counts[channel.topic] += 1
        side = channel.topic.split("/")[2]
        if channel.topic.endswith("/tick"):
            last_tick[side] = message
        elif channel.topic.endswith("/measured_cp") and side in last_tick:
            position = message.pose.position
            tick = last_tick[side]
            stamp_ns = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            same = [position.x, position.y, position.z] == list(tick.position_m)[:3]
            if stamp_ns != record.log_time:
                wrong.append(f"{channel.topic} is stamped {stamp_ns} ns and logged at {record.log_time} ns")
                break
            if stamp_ns == epoch_ns + tick.now_ns and not same:
                wrong.append(f"{channel.topic} at {stamp_ns} ns differs from its tick")
                break
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--ticks", type=int, default=1, help="least ticks of each side")
    parser.add_argument("--sides", default="master,slave", help="sides that must be there")
    parser.add_argument("--require-ros2", action="store_true", help="fail without mcap_ros2")
    options = parser.parse_args()
    sides = [side for side in options.sides.split(",") if side]
    if unknown := [side for side in sides if side not in CHANNELS]:
        parser.error(f"--sides: {unknown} unknown; expected master, slave")
    wrong = []
    if options.require_ros2 and DecoderFactory is None:
        wrong.append("package mcap-ros2-support is not installed")
    factories = [DecoderFactory()] if DecoderFactory else []
    counts = Counter()
    try:
        with open(options.file, "rb") as stream:
            reader = make_reader(stream, decoder_factories=factories)
            check_shape(reader, sides, options.ticks, wrong)
            counts = check_messages(reader, wrong)
    except Exception as error:  # any failure of a foreign reader is a failed check
        wrong.append(f"{type(error).__name__}: {error}")
    for topic, count in sorted(counts.items()):
        print(f"{count:8d}  {topic}")
    for reason in wrong:
        print(f"{options.file}: {reason}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
