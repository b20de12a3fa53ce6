"""Finite elements of a pressed block: the outside engine behind truth.csv.

Quadratic elements of scikit-fem, in axial symmetry or in three dimensions with one plane of symmetry. The
stresses are those of the laws in sim-twin/src/law; their tangents are complex-step derivatives of the stress,
so no formula of a tangent is shared with the program under test. A rigid, frictionless ball is pressed into the
top by augmented multipliers at the quadrature points of the faces.

Units: mm, kPa, mN, s, kg.
"""

import math

import numpy as np
import pypardiso
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from skfem import (
    Basis,
    ElementHex2,
    ElementQuad2,
    FacetBasis,
    MeshHex,
    MeshQuad,
)

# each searches the disk for its library when it is made
DIRECT, FACTOR = pypardiso.PyPardisoSolver(mtype=-2), pypardiso.PyPardisoSolver(mtype=-2)
EYE = np.eye(3)[:, :, None, None]


def graded(breaks, size):
    """Coordinates from the first to the last break, which contain all breaks, with edges of about size(x)."""
    out = [breaks[0]]
    for low, high in zip(breaks[:-1], breaks[1:]):
        x = np.linspace(low, high, 2001)
        density = 1.0 / np.array([size(v) for v in x])
        total = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(x))])
        count = max(2, int(np.ceil(total[-1])))
        out.extend(np.interp(np.linspace(0, total[-1], count + 1)[1:], total, x))
    return np.array(out)


def cofactor(f):
    c = np.empty_like(f)
    for i in range(3):
        for j in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            d, e = (j + 1) % 3, (j + 2) % 3
            c[i, j] = f[a, d] * f[b, e] - f[a, e] * f[b, d]
    return c


def product(a, b):
    return np.einsum("ij...,jk...->ik...", a, b)


def transpose(a):
    return np.swapaxes(a, 0, 1)


def dot(a, b):
    return np.einsum("ij...,ij...->...", a, b)


class Law:
    """Energy and first Piola stress of a law of sim-twin/src/law."""

    def __init__(self, name, mu, lam, second=0.5, growth=5.0):
        self.name, self.mu, self.lam = name, mu, lam
        self.kappa = lam + 2.0 * mu / 3.0
        self.second, self.growth = second, growth

    def stress(self, f):
        mu, lam = self.mu, self.lam
        if self.name == "linear":
            e = 0.5 * (f + transpose(f)) - EYE
            return 2 * mu * e + lam * np.trace(e) * EYE
        if self.name == "st-venant-kirchhoff":
            e = 0.5 * (product(transpose(f), f) - EYE)
            return product(f, 2 * mu * e + lam * np.trace(e) * EYE)
        c = cofactor(f)
        j = (f[:, 0] * c[:, 0]).sum(0)
        g = c / j
        i1 = dot(f, f)
        if self.name == "neo-hookean":
            return mu * (f - g) + lam * np.log(j) * g
        if self.name == "stable-neo-hookean":
            m, l = 4 / 3 * mu, lam + 5 / 6 * mu
            return m * (1 - 1 / (i1 + 1)) * f + l * (j - 1 - 0.75 * m / l) * c
        first = j ** (-2 / 3) * (2 * f - 2 / 3 * i1 * g)
        volume = 0.5 * self.kappa * (j * j - 1) * g
        if self.name == "mooney-rivlin":
            right = product(transpose(f), f)
            i2 = 0.5 * (i1 * i1 - dot(right, right))
            other = j ** (-4 / 3) * (2 * (i1 * f - product(f, right)) - 4 / 3 * i2 * g)
            half = 0.5 * mu
            return half * (1 - self.second) * first + half * self.second * other + volume
        if self.name == "fung":
            grown = np.exp(self.growth * (j ** (-2 / 3) * i1 - 3))
            return 0.5 * mu * grown * first + volume
        raise ValueError(f"law {self.name}")


class Viscosity:
    """Dashpot and branches that relax, linear in the Green strain; see sim-twin/src/law/viscous.rs. `branches` are
    stiffnesses at all points, each with its time."""

    def __init__(self, shear, bulk, branches):
        self.shear, self.bulk, self.branches = shear, bulk, branches

    def rest(self, strain):
        return np.zeros((len(self.branches),) + strain.shape)

    def second_piola(self, strain, before, memory, dt):
        """Stress in the middle of a step, and memory at its end."""
        change = strain - before
        trace = np.trace(change)
        shape = change - trace * EYE / 3
        stress = (2 * self.shear * shape + self.bulk * trace * EYE) / dt
        after = []
        for (stiffness, time), last in zip(self.branches, memory):
            decay = np.exp(-dt / time)
            after.append(decay * last + stiffness * (1 - decay) / (dt / time) * shape)
            stress = stress + 0.5 * (last + after[-1])
        return stress, np.array(after)

    def harmonic(self, strain, omega):
        """Complex stress of a small oscillation of the strain."""
        trace = np.trace(strain)
        shape = strain - trace * EYE / 3
        stress = 1j * omega * (2 * self.shear * shape + self.bulk * trace * EYE)
        for stiffness, time in self.branches:
            stress = stress + stiffness * (1j * omega * time / (1 + 1j * omega * time)) * shape
        return stress


def green(f):
    return 0.5 * (product(transpose(f), f) - EYE)


class Block:
    """A block or cylinder on a rigid ground, and a ball above its top at z = 0."""

    def __init__(self, axes, material, law, radius, at=None, contact=100.0):
        """`axes` are the coordinates of grid lines: r and z, or x, y >= 0 and z. `material(points)` returns mu,
        lambda, density and a Viscosity or None at points."""
        self.dim = len(axes)
        if self.dim == 2:
            mesh, element = MeshQuad.init_tensor(*axes), ElementQuad2()
        else:
            mesh, element = MeshHex.init_tensor(*axes), ElementHex2()
        self.radius, self.at = radius, np.zeros(3) if at is None else np.array([at[0], at[1], 0.0])
        basis = Basis(mesh, element, intorder=5)
        self.basis = basis
        x = np.asarray(basis.global_coordinates())
        self.w = np.asarray(basis.dx)
        if self.dim == 2:
            self.w = self.w * 2 * np.pi * x[0]
            self.r = x[0]
        else:
            self.w = 2.0 * self.w
        self.phi = np.array([np.broadcast_to(b[0].value, self.w.shape) for b in basis.basis])
        self.grad = np.array([np.broadcast_to(b[0].grad, (self.dim,) + self.w.shape) for b in basis.basis])
        self.nodes = basis.element_dofs  # (a, element)
        self.count = self.dim * basis.N
        self.dofs = (self.dim * self.nodes[:, None, :] + np.arange(self.dim)[None, :, None]).reshape(
            -1, self.nodes.shape[1]
        )
        mu, lam, self.density, self.viscosity = material(x)
        self.law = Law(law[0], mu, lam, **law[1])
        self.components = (
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]
            if self.dim == 2
            else [(i, j) for i in range(3) for j in range(3)]
        )
        at_nodes = basis.doflocs
        bottom = np.abs(at_nodes[-1] - at_nodes[-1].min()) < 1e-9
        fixed = np.zeros((basis.N, self.dim), bool)
        fixed[bottom] = True
        plane = 0 if self.dim == 2 else 1
        fixed[np.abs(at_nodes[plane]) < 1e-9, plane] = True
        self.free = np.flatnonzero(~fixed.ravel())
        self._pattern()
        self._top(mesh, element, contact)
        self.u = np.zeros(self.count)
        self.rate = np.zeros(self.count)
        self.depth = 0.0
        self.factor = None

    def _pattern(self):
        place = np.full(self.count, -1)
        place[self.free] = np.arange(len(self.free))
        local = place[self.dofs]  # (n, element)
        n, elements = local.shape
        rows = np.repeat(local.T[:, :, None], n, axis=2)
        cols = np.repeat(local.T[:, None, :], n, axis=1)
        keep = (rows >= 0) & (cols >= rows)
        self.keep = keep
        key = rows[keep].astype(np.int64) * len(self.free) + cols[keep]
        unique, self.slot = np.unique(key, return_inverse=True)
        self.slot = self.slot.astype(np.int32)
        rows, cols = unique // len(self.free), unique % len(self.free)
        self.shape = (len(self.free),) * 2
        self.indptr = np.searchsorted(rows, np.arange(len(self.free) + 1)).astype(np.int32)
        self.indices = cols.astype(np.int32)
        self.place = place

    def _top(self, mesh, element, contact):
        facets = mesh.facets_satisfying(lambda x: np.abs(x[-1]) < 1e-9, boundaries_only=True)
        top = FacetBasis(mesh, element, facets=facets, intorder=9)
        x = np.asarray(top.global_coordinates())
        w = np.asarray(top.dx)
        w = w * 2 * np.pi * x[0] if self.dim == 2 else 2.0 * w
        self.top_phi = np.array([np.broadcast_to(b[0].value, w.shape) for b in top.basis])
        # a facet's basis is that of its element
        self.top_nodes = top.element_dofs
        self.top_dofs = (
            self.dim * self.top_nodes[:, None, :] + np.arange(self.dim)[None, :, None]
        ).reshape(-1, self.top_nodes.shape[1])
        self.top_x, self.top_w = x, w
        size = np.sqrt((np.asarray(top.dx).sum(1)).min()) if self.dim == 3 else np.asarray(top.dx).sum(1).min()
        centre = self.basis.global_coordinates()
        mu_top = np.asarray(self.law.mu)[np.asarray(centre)[-1] > -1.0]
        mu_top = mu_top.min() if mu_top.size else np.asarray(self.law.mu).min()
        self.contact = contact * mu_top / size
        self.multiplier = np.zeros(w.shape)

    # ---- forces

    def _scatter(self, out, dofs, local):
        out += np.bincount(dofs.ravel(), weights=local.ravel(), minlength=self.count)

    def gradient(self, u):
        local = u[self.dofs].reshape(self.nodes.shape[0], self.dim, -1)
        f = np.zeros((3, 3) + self.w.shape)
        f[:] = EYE
        for i in range(self.dim):
            f[i, : self.dim] += np.einsum("ae,ajeq->jeq", local[:, i], self.grad)
        if self.dim == 2:
            f[2, 2] += np.einsum("ae,aeq->eq", local[:, 0], self.phi) / self.r
        return f

    def total_stress(self, f, step):
        p = self.law.stress(f)
        if step is not None and self.viscosity is not None:
            strain = green(2 * f - step["f"])
            s, _ = self.viscosity.second_piola(strain, step["e"], step["h"], step["dt"])
            p = p + product(f, s)
        return p

    def internal(self, f, step):
        p = self.total_stress(f, step) * self.w
        out = np.zeros(self.count)
        local = np.stack(
            [np.einsum("jeq,ajeq->ae", p[i, : self.dim], self.grad) for i in range(self.dim)], axis=1
        )
        if self.dim == 2:
            local[:, 0] += np.einsum("eq,aeq->ae", p[2, 2] / self.r, self.phi)
        self._scatter(out, self.dofs, local)
        return out

    def element_stiffness(self, f, step, chunk):
        """Upper triangles by element, for elements of the slice `chunk`."""
        part = f[:, :, chunk]
        law, viscosity = self.law, self.viscosity
        sub = Law(law.name, law.mu[chunk], law.lam[chunk], law.second, law.growth)
        own = None
        if step is not None and viscosity is not None:
            part_of = lambda v: np.broadcast_to(v, self.w.shape)[chunk]
            own = Viscosity(
                part_of(viscosity.shear), part_of(viscosity.bulk), [(part_of(k), t) for k, t in viscosity.branches]
            )
        m = len(self.components)
        w = self.w[chunk]
        tangent = np.empty(w.shape + (m, m))
        tiny = 1e-30
        for column, (k, l) in enumerate(self.components):
            moved = part.astype(complex)
            moved[k, l] += 1j * tiny
            p = sub.stress(moved)
            if own is not None:
                strain = green(2 * moved - step["f"][:, :, chunk])
                s, _ = own.second_piola(strain, step["e"][:, :, chunk], step["h"][:, :, :, chunk], step["dt"])
                p = p + product(moved, s)
            for row, (i, j) in enumerate(self.components):
                tangent[..., row, column] = p[i, j].imag / tiny * w
        return self.between_nodes(tangent, chunk)

    def between_nodes(self, tangent, chunk):
        """Stiffness between the nodes of elements from that at their points."""
        a, m = self.nodes.shape[0], len(self.components)
        elements, points = tangent.shape[:2]
        b = np.zeros((elements, points, m, a, self.dim))
        for row, (i, j) in enumerate(self.components):
            if i < self.dim:
                b[:, :, row, :, i] = np.moveaxis(self.grad[:, j, chunk], 0, -1)
            else:
                b[:, :, row, :, 0] = np.moveaxis(self.phi[:, chunk] / self.r[chunk], 0, -1)
        b = b.reshape(elements, points, m, a * self.dim)
        ab = tangent @ b
        n = a * self.dim
        b = b.reshape(elements, points * m, n)
        return np.swapaxes(b, 1, 2) @ ab.reshape(elements, points * m, n)

    def tangent(self, f, u, centre, step):
        elements = self.w.shape[0]
        size = 2048 if self.dim == 2 else 128
        values = np.empty(int(self.keep.sum()))
        at = 0
        mass = 0.0 if step is None else 4.0 / step["dt"] ** 2
        for begin in range(0, elements, size):
            chunk = slice(begin, min(begin + size, elements))
            k = self.element_stiffness(f, step, chunk)
            if mass:
                phi = self.phi[:, chunk]
                own = np.einsum("aeq,beq,eq->eab", phi, phi, (self.w * self.density)[chunk]) * mass
                for i in range(self.dim):
                    k[:, i :: self.dim, i :: self.dim] += own
            part = k[self.keep[chunk]]
            values[at : at + part.size] = part
            at += part.size
        data = np.bincount(self.slot, weights=values, minlength=self.indices.size)
        matrix = sp.csr_matrix((data, self.indices, self.indptr), shape=self.shape)
        return matrix + self.contact_stiffness(u, centre)

    # ---- contact

    def contact_state(self, u, centre):
        local = u[self.top_dofs].reshape(self.top_nodes.shape[0], self.dim, -1)
        x = self.top_x + np.einsum("aie,aeq->ieq", local, self.top_phi)
        c = centre[[0, 2]] if self.dim == 2 else centre
        offset = x - c[:, None, None]
        distance = np.sqrt((offset**2).sum(0))
        gap = distance - self.radius
        pressure = np.maximum(0.0, self.multiplier - self.contact * gap)
        return offset / distance, distance, gap, pressure

    def contact_forces(self, u, centre):
        normal, _, _, pressure = self.contact_state(u, centre)
        push = normal * pressure * self.top_w
        out = np.zeros(self.count)
        local = np.einsum("ieq,aeq->aie", push, self.top_phi)
        # forces that oppose: the residual is internal less push
        self._scatter(out, self.top_dofs, local)
        force = push.sum((1, 2))
        return out, -force

    def contact_stiffness(self, u, centre):
        normal, distance, _, pressure = self.contact_state(u, centre)
        on = (pressure > 0).any(1)
        if not on.any():
            return sp.csr_matrix(self.shape)
        normal, distance, pressure = normal[:, on], distance[on], pressure[on]
        along = np.einsum("ieq,jeq->ijeq", normal, normal)
        eye = np.eye(self.dim)[:, :, None, None]
        slope = along * (self.contact * (pressure > 0)) - (eye - along) * pressure / distance
        slope = slope * self.top_w[on]
        phi = self.top_phi[:, on]
        k = np.einsum("aeq,ijeq,beq->eaibj", phi, slope, phi, optimize=True)
        n = phi.shape[0] * self.dim
        k = k.reshape(-1, n, n)
        local = self.place[self.top_dofs[:, on]]
        rows = np.repeat(local.T[:, :, None], n, axis=2)
        cols = np.repeat(local.T[:, None, :], n, axis=1)
        keep = (rows >= 0) & (cols >= rows) & (k != 0)
        return sp.csr_matrix((k[keep], (rows[keep], cols[keep])), shape=self.shape)

    # ---- equilibrium

    def centre(self, depth):
        return self.at + np.array([0.0, 0.0, self.radius - depth])

    def residual(self, u, centre, step):
        f = self.gradient(u)
        c = cofactor(f)
        if ((f[:, 0] * c[:, 0]).sum(0)).min() <= 0.02:
            return None, None, f
        push, force = self.contact_forces(u, centre)
        r = self.internal(f, step) - push
        if step is not None:
            r += self.inertia(2 * (u - step["u"]) / step["dt"] - step["v"], step)
        scale = np.linalg.norm(push[self.free]) + 1e-12
        return r[self.free], scale, f

    def inertia(self, v_mid_less_v, step):
        """Force of inertia of the change of velocity over half a step: 2 m (v_mid - v) / dt."""
        local = v_mid_less_v[self.dofs].reshape(self.nodes.shape[0], self.dim, -1)
        at = np.einsum("aie,aeq->ieq", local, self.phi) * self.w * self.density * (2.0 / step["dt"])
        out = np.zeros(self.count)
        part = np.einsum("ieq,aeq->aie", at, self.phi)
        self._scatter(out, self.dofs, part)
        return out

    def _apply(self, r):
        self.factor.set_phase(33)
        return self.factor._call_pardiso(self.factored, r[:, None]).ravel()

    def _cg(self, full, load):
        x = np.zeros_like(load)
        r = load.copy()
        z = self._apply(r)
        p, rho = z.copy(), r @ z
        goal = 1e-4 * np.linalg.norm(load)
        for _ in range(25):
            q = full @ p
            curve = p @ q
            if curve <= 0 or rho <= 0:
                return None
            x += rho / curve * p
            r -= rho / curve * q
            if np.linalg.norm(r) < goal:
                return x
            z = self._apply(r)
            rho, old = r @ z, rho
            p = z + rho / old * p
        return None

    def newton(self, u, depth, step=None, tolerance=1e-5, limit=40):
        centre = self.centre(depth)
        r, scale, f = self.residual(u, centre, step)
        if r is None:
            return None
        for _ in range(limit):
            size = np.linalg.norm(r)
            if size <= tolerance * scale:
                return u
            matrix = self.tangent(f, u, centre, step).tocsr()
            matrix.sort_indices()
            if self.dim == 2:
                DIRECT._check_A(matrix)
                DIRECT.set_phase(13)
                x = DIRECT._call_pardiso(matrix, -r)
            else:
                x = self.solve(matrix, -r)
            length = 1.0
            while True:
                trial = u.copy()
                trial[self.free] += length * x
                other, new_scale, new_f = self.residual(trial, centre, step)
                if other is not None and (np.linalg.norm(other) < size * 1.5 or length < 0.06):
                    break
                length *= 0.5
                if length < 0.01:
                    return None
            u, r, scale, f = trial, other, new_scale, new_f
        return None

    def solve(self, matrix, load):
        if self.factor is not None:
            x = self._cg(matrix + sp.triu(matrix, 1).T, load)
            if x is not None:
                return x
        self.factor = FACTOR
        self.factored = matrix
        self.factor.factorize(matrix)
        return self._apply(load)

    def press(self, depth, augmentations=8):
        """Presses to a depth; returns the force on the ball [mN]."""
        self.advance(depth)
        last = None
        for _ in range(augmentations):
            _, _, gap, pressure = self.contact_state(self.u, self.centre(depth))
            before, u, share = self.multiplier, None, 1.0
            while u is None and share > 0.1:
                self.multiplier = before + share * (pressure - before)
                u = self.newton(self.u, depth)
                share *= 0.5
            if u is None:
                # the state is in equilibrium with the multipliers before; the caller bounds how far the ball sinks in
                self.multiplier = before
                break
            self.u = u
            force = self.force(depth)
            if last is not None and abs(force - last) < 1e-4 * abs(force):
                break
            last = force
        return self.force(depth)

    def advance(self, goal):
        reach = 0.12 * self.radius
        while self.depth < goal - 1e-12:
            way = min(reach, goal - self.depth)
            if self.depth == 0.0:
                way = min(way, 0.03 * self.radius)
            u = self.newton(self.u + self.rate * way, self.depth + way)
            if u is None:
                u = self.newton(self.u, self.depth + way)
            if u is None:
                reach = 0.5 * way
                if reach < 1e-3 * self.radius:
                    raise RuntimeError(f"stalled at {self.depth} mm")
                continue
            self.rate = (u - self.u) / way
            self.u, self.depth = u, self.depth + way
            reach = min(0.12 * self.radius, 1.5 * reach)

    def force(self, depth):
        """Force on the ball along z [mN]."""
        return self.contact_forces(self.u, self.centre(depth))[1][-1]

    def penetration(self, depth):
        _, _, gap, pressure = self.contact_state(self.u, self.centre(depth))
        return -gap[pressure > 0].min() if (pressure > 0).any() else 0.0

    # ---- motion

    def move(self, depths, lengths):
        """Moves through depths at the ends of steps of these lengths [s], from the present state, by the midpoint rule; returns
        the force in the middle of every step [mN]."""
        f = self.gradient(self.u)
        e = green(f)
        h = None if self.viscosity is None else self.viscosity.rest(e)
        v = np.zeros(self.count)
        forces = []
        now = self.depth
        for depth, dt in zip(depths, lengths):
            step = {"u": self.u, "v": v, "f": f, "e": e, "h": h, "dt": dt}
            middle = 0.5 * (now + depth)
            guess = self.u + 0.5 * dt * v
            u_mid = self.newton(guess, middle, step)
            if u_mid is None:
                u_mid = self.newton(self.u, middle, step)
            if u_mid is None:
                raise RuntimeError("no step")
            forces.append(self.contact_forces(u_mid, self.centre(middle))[1][-1])
            end = 2 * u_mid - self.u
            f = self.gradient(end)
            strain = green(f)
            if self.viscosity is not None:
                _, h = self.viscosity.second_piola(strain, e, h, dt)
            e = strain
            v = 2 * (end - self.u) / dt - v
            self.u, now = end, depth
        self.depth = now
        return np.array(forces)

    # ---- oscillation

    def harmonic(self, hz, damping):
        """Complex stiffness [N/m] of a small oscillation of the ball about the present equilibrium. The contact keeps its
        points: the pressure at its border is zero, so to first order the border does not matter."""
        f, omega, every = self.gradient(self.u), 2 * math.pi * hz, slice(None)
        k = self.element_stiffness(f, None, every).astype(complex)
        if self.viscosity is not None:
            tangent = np.zeros(self.w.shape + (len(self.components),) * 2, complex)
            for column, (i, j) in enumerate(self.components):
                change = np.zeros_like(f)
                change[i, j] = 1.0
                half = product(transpose(f), change)
                p = product(f.astype(complex), self.viscosity.harmonic(0.5 * (half + transpose(half)), omega))
                for row, (a, b) in enumerate(self.components):
                    tangent[..., row, column] = p[a, b] * self.w
            k += self.between_nodes(tangent, every)
        mass = np.einsum("aeq,beq,eq->eab", self.phi, self.phi, self.w * self.density)
        for i in range(self.dim):
            k[:, i :: self.dim, i :: self.dim] += (1j * omega * damping - omega**2) * mass
        normal, distance, _, pressure = self.contact_state(self.u, self.centre(self.depth))
        along = np.einsum("ieq,jeq->ijeq", normal, normal)
        eye = np.eye(self.dim)[:, :, None, None]
        # a thousand times as stiff as the augmented contact: rigid
        slope = along * (1e3 * self.contact * (pressure > 0)) - (eye - along) * pressure / distance
        slope = slope * self.top_w
        touched = np.einsum("aeq,ijeq,beq->eaibj", self.top_phi, slope, self.top_phi, optimize=True)
        down = np.zeros(self.dim)
        down[-1] = -1.0
        push = np.einsum("ijeq,j->ieq", slope, down)
        load = np.zeros(self.count)
        self._scatter(load, self.top_dofs, np.einsum("ieq,aeq->aie", push, self.top_phi))
        n = self.top_dofs.shape[0]
        matrix = self._whole(k, self.dofs) + self._whole(touched.reshape(-1, n, n), self.top_dofs)
        moved = splu(matrix).solve(load[self.free].astype(complex))
        return np.einsum("i,ieq->", down, push) - load[self.free] @ moved

    def _whole(self, k, dofs):
        local, n = self.place[dofs], k.shape[1]
        rows = np.repeat(local.T[:, :, None], n, axis=2)
        cols = np.repeat(local.T[:, None, :], n, axis=1)
        keep = (rows >= 0) & (cols >= 0)
        return sp.csc_matrix((k[keep], (rows[keep], cols[keep])), shape=self.shape, dtype=complex)
