"""Computes truth.csv from cases.toml with scikit-fem: python compute.py [scene ...].

Needs Python 3.11, scikit-fem and pypardiso. A press in the middle is axially symmetric. The block lies between the
cylinder inside its sides and the one around its edges; `value` is that of the cylinder with the block's area, `inner`
and `outer` those of the two, on the coarse mesh, at the largest depth. Off the middle, half of the block itself is meshed. `value` is on
the fine mesh, `coarse` on one with edges half as long again. Presses that have a row are left as they
are: delete a row to compute it anew.
"""

import csv
import math
import sys
import time
import tomllib
from pathlib import Path

import numpy as np

from solver import Block, Viscosity, graded

HERE = Path(__file__).parent
SCENES = HERE / "../../../sim-twin/scene/scenes"
COLUMNS = "scene,x_mm,y_mm,radius_mm,depth_mm,motion,parameter,quantity,value,coarse,inner,outer".split(",")
# sim-twin/src/law/tissue_library.rs
PUBLISHED = {"skin": (35e3, 1090.0), "fat": (2e3, 950.0), "muscle": (80e3, 1050.0)}
# depths of a sine at which its small oscillation is computed
SINE_DEPTHS = 5
# edges of elements, over those of the sizes in `axial` and `whole`
FINE, COARSE = 1.4, 2.1


def material_of(entry):
    """mu and lambda [kPa], density [kg/mm3], viscosities [kPa s], stiffnesses and times of the branches."""
    young, density = PUBLISHED.get(entry.get("tissue"), (None, 1000.0))
    young = entry.get("young_pa", young) * 1e-3
    nu = entry.get("poisson", 0.49)
    mu = young / (2 * (1 + nu))
    alone = [[entry["relaxing_share"], entry["relaxing_time_s"]]] if "relaxing_share" in entry else []
    series = entry.get("relaxing", alone)
    share = sum(own for own, _ in series)
    lam = 2 * mu * nu / (1 - 2 * nu)
    bulk = lam + 2 * mu / 3
    rest = mu * (1 - share)
    return {
        "mu": mu,
        "lam": lam,
        "rest_mu": rest,
        "rest_lam": bulk - 2 * rest / 3,
        "density": entry.get("density_kgpm3", density) * 1e-9,
        "shear": entry.get("shear_viscosity_pas", 0.0) * 1e-3,
        "bulk": entry.get("bulk_viscosity_pas", 0.0) * 1e-3,
        "series": [(2 * mu * own, time) for own, time in series],
    }


class Scene:
    def __init__(self, entry, grid):
        if "layer" not in entry:
            entry = tomllib.loads((SCENES / f"{entry['name']}.toml").read_text())
            grid = {}
        block = grid | entry.get("block", {})
        self.size = [1e3 * x for x in block["size_m"]]
        law = block.get("law", "neo-hookean")
        numbers = {"second": block.get("mooney_second", 0.5), "growth": block.get("fung_growth", 5.0)}
        self.law = (law, numbers)
        self.damping = block["damping_per_s"]
        self.floors, self.materials, depth = [], [], 0.0
        for layer in entry["layer"]:
            depth += 1e3 * layer.get("thickness_m", 1e-3 * self.size[2] - 1e-3 * depth)
            self.floors.append(-depth)
            self.materials.append(material_of(layer))
        self.balls = [
            (np.array(ball["center_m"]) * 1e3, ball["radius_m"] * 1e3, material_of(ball))
            for ball in entry.get("inclusion", [])
        ]
        self.viscous = any(m["shear"] or m["bulk"] or m["series"] for m in self.materials)

    def field(self, points, at):
        z = points[-1]
        out = {key: np.zeros_like(z) for key in self.materials[0] if key != "series"}
        left = np.ones(z.shape, bool)
        for floor, material in zip(self.floors, self.materials):
            here = left & ((z > floor) | (floor == self.floors[-1]))
            left &= ~here
            for key in out:
                out[key][here] = material[key]
        for centre, radius, material in self.balls:
            offset = points - (centre[[0, 2]] if len(points) == 2 else centre)[:, None, None]
            here = (offset**2).sum(0) < radius**2
            for key in out:
                out[key][here] = material[key]
        return out

    def material(self, points):
        out = self.field(points, None)
        viscosity = None
        if self.viscous:
            assert len(self.materials) == 1
            series = [(np.full_like(out["mu"], k), time) for k, time in self.materials[0]["series"]]
            viscosity = Viscosity(out["shear"], out["bulk"], series)
        return out["rest_mu"], out["rest_lam"], out["density"], viscosity


def chord(radius, depth):
    return math.sqrt(max(radius * min(depth, radius), 0.01))


def axial(scene, radius, depths, outer, factor, contact=100.0):
    # the surface of a ball crosses elements
    factor *= 0.5 if scene.balls else 1.0
    low, high = chord(radius, min(depths)), 1.3 * chord(radius, max(depths))
    high = min(high, 1.3 * radius)
    least = 0.1 * low * factor
    size = lambda r: max(least, 0.06 * factor * min(r, high)) + 0.22 * factor * max(0.0, r - high)
    deep = lambda z: max(least, 0.09 * factor * min(-z, high)) + 0.22 * factor * max(0.0, -z - high)
    breaks = [-scene.size[2]] + [f for f in scene.floors[::-1] if f > -scene.size[2] + 1e-9] + [0.0]
    axes = [graded([0.0, outer], size), graded(breaks, deep)]
    return Block(axes, scene.material, scene.law, radius, contact=contact)


def whole(scene, at, radius, depths, factor):
    least = 0.24 * chord(radius, min(depths)) * factor
    across = lambda x: max(least, 0.27 * factor * abs(x))
    side = [0.5 * scene.size[0], 0.5 * scene.size[1]]
    breaks = [-scene.size[2]] + [f for f in scene.floors[::-1] if f > -scene.size[2] + 1e-9] + [0.0]
    axes = [
        graded([-side[0], at[0], side[0]], lambda x: across(x - at[0])),
        graded([0.0, side[1]], across),
        graded(breaks, lambda z: max(least, 0.3 * factor * abs(z))),
    ]
    return Block(axes, scene.material, scene.law, radius, at=at)


def forces(block, depths):
    out = []
    for depth in depths:
        force = block.press(depth)
        penetration = block.penetration(depth)
        assert penetration < 4e-3 * depth, (depth, penetration)
        out.append(force * 1e-3)
    return out


def sine(block, depth, hz, damping):
    """Phase [degrees] and dynamic stiffness [N/m] of the first harmonic of a sine with a tenth of the depth as amplitude.

    To the second order in the amplitude it is the mean, weighted by the square of the speed, of the small oscillation at
    the depths on the way (describing function): a Gauss-Chebyshev rule of the second kind. The border of the contact falls
    between points of the mesh, which changes all stiffnesses alike: the static one is that of the forces at both ends.
    """
    first = block.press(0.9 * depth)
    turn = np.pi * np.arange(SINE_DEPTHS, 0, -1) / (SINE_DEPTHS + 1)
    part, slow = 0.0, 0.0
    for cosine, weight in zip(np.cos(turn), np.sin(turn) ** 2):
        block.press(depth * (1 + 0.1 * cosine))
        part += weight * block.harmonic(hz, damping)
        slow += weight * block.harmonic(0.0, 0.0).real
    static = (block.press(1.1 * depth) - first) / (0.2 * depth)
    return [math.degrees(math.atan2(part.imag, part.real)), static * abs(part) / slow]


def hold(block, depth, hold_s):
    """Force [N] so long after a descent at 20 mm/s, which begins at 0.05 mm."""
    begin = 0.05 * depth
    block.press(begin)
    block.contact *= 10.0
    block.u = block.newton(block.u, begin)
    count = 60
    descent = (depth - begin) / 20.0
    down = begin + (depth - begin) * np.arange(1, count + 1) / count
    # steps grow after the descent; inertia rings, so the force is a mean over the last third
    late = np.geomspace(1.0, 8.0, 60)
    late *= hold_s / late.sum()
    lengths = np.concatenate([np.full(count, descent / count), late])
    force = block.move(np.concatenate([down, np.full(60, depth)]), lengths)
    return force[-1] * 1e-3


def rows_of(name, scene, press):
    at = [float(x) for x in press.get("at_mm", [0, 0])]
    radius, depths = float(press["radius_mm"]), [float(d) for d in press["depths_mm"]]
    equal = math.sqrt(scene.size[0] * scene.size[1] / math.pi)
    inner, outer = 0.5 * min(scene.size[:2]), 0.5 * math.hypot(*scene.size[:2])
    motion, parameter, names = "press", 0.0, ["force_n"]
    if "sine_hz" in press:
        motion, parameter, names = "sine", float(press["sine_hz"]), ["phase_deg", "stiffness_npm"]
        run = lambda factor, r: sine(axial(scene, radius, depths, r, factor), depths[0], parameter, scene.damping)
    elif "hold_s" in press:
        motion, parameter = "hold", float(press["hold_s"])
        run = lambda factor, r: [hold(axial(scene, radius, depths, r, factor), depths[0], parameter)]
    elif at == [0.0, 0.0]:
        run = lambda factor, r: forces(axial(scene, radius, depths, r, factor), depths)
    else:
        run = lambda factor, r: forces(whole(scene, at, radius, depths, factor), depths)
    value, coarse = run(FINE, equal), run(COARSE, equal)
    if motion == "sine":
        bounds = run(COARSE, inner), run(COARSE, outer)
    elif motion == "press" and at == [0.0, 0.0]:
        # the deepest press feels the sides most
        last = [math.nan] * (len(value) - 1)
        deepest = lambda r: last + forces(axial(scene, radius, depths, r, COARSE), depths[-1:])
        bounds = deepest(inner), deepest(outer)
    else:
        bounds = [math.nan] * len(value), [math.nan] * len(value)
    for k, number in enumerate(value):
        depth = depths[k] if motion == "press" else depths[0]
        quantity = names[0] if motion == "press" else names[k]
        given = [number, coarse[k], bounds[0][k], bounds[1][k]]
        words = ["" if math.isnan(x) else f"{x:.6g}" for x in given]
        yield [name, at[0], at[1], radius, depth, motion, parameter, quantity, *words]


def read(path):
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.reader(file))[1:]


def agree(row):
    """True if both meshes agree; a phase is compared with 50 degrees."""
    value, coarse = float(row[8]), float(row[9])
    scale = 50.0 if row[7] == "phase_deg" else abs(value)
    return abs(coarse - value) < 0.005 * scale


def main():
    """Computes the presses that have no row yet; those whose meshes disagree get none."""
    cases = tomllib.loads((HERE / "cases.toml").read_text())
    wanted, path = sys.argv[1:], HERE / "truth.csv"
    order = [entry["name"] for entry in cases["scene"]]
    for entry in cases["scene"]:
        name = entry["name"]
        if wanted and name not in wanted:
            continue
        scene = Scene(entry, cases["grid"])
        for press in entry["press"]:
            x, y = (str(float(v)) for v in press.get("at_mm", [0, 0]))
            parameter = str(float(press.get("sine_hz", press.get("hold_s", 0.0))))
            head = [name, x, y, str(float(press["radius_mm"]))]
            if any(row[:4] == head and row[6] == parameter for row in read(path)):
                continue
            begun = time.time()
            try:
                own = [[str(v) for v in row] for row in rows_of(name, scene, press)]
            except (RuntimeError, AssertionError) as error:
                print(name, press, "failed:", error, flush=True)
                continue
            for row in own:
                print(*row, f"{time.time() - begun:.0f} s", "" if agree(row) else "meshes disagree", flush=True)
            rows = read(path) + [row for row in own if agree(row)]
            rows.sort(key=lambda row: order.index(row[0]))
            with path.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(rows)


if __name__ == "__main__":
    main()
