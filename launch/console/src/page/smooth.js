// Smoother surface through the same nodes: each edge gets a middle on a cubic that is square to the normals of its
// ends (the edges of the triangles of Vlachos, Peters, Boyd and Mitchell 2001), each triangle becomes four. Nodes keep
// their positions, so the drawn surface goes through every node (S4-53).

/** Most triangles that are smoothed: larger meshes look smooth, and are slow to draw in software. */
export const FACES_MAX = 12000;

export class Smooth {
  /** For a mesh of this topology. */
  constructor(triangles, nodes) {
    const edges = new Map();
    const middle = (a, b) => {
      const key = a < b ? a * nodes + b : b * nodes + a;
      if (!edges.has(key)) edges.set(key, edges.size);
      return nodes + edges.get(key);
    };
    const faces = new Uint32Array(4 * triangles.length);
    for (let at = 0, to = 0; at < triangles.length; at += 3) {
      const [a, b, c] = [triangles[at], triangles[at + 1], triangles[at + 2]];
      const [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
      for (const corner of [a, ab, ca, ab, b, bc, ca, bc, c, ab, bc, ca]) faces[to++] = corner;
    }
    this.nodes = nodes;
    this.triangles = faces;
    this.ends = new Uint32Array(2 * edges.size);
    for (const [key, edge] of edges) this.ends.set([Math.floor(key / nodes), key % nodes], 2 * edge);
  }

  /** Nodes of the finer mesh. */
  get size() {
    return this.nodes + this.ends.length / 2;
  }

  /** Fills `out` with the coarse values (3 a node) and their means on the edges. */
  spread(values, out) {
    out.set(values);
    for (let edge = 0, to = 3 * this.nodes; edge < this.ends.length; edge += 2) {
      const [a, b] = [3 * this.ends[edge], 3 * this.ends[edge + 1]];
      for (let axis = 0; axis < 3; axis++) out[to++] = 0.5 * (values[a + axis] + values[b + axis]);
    }
  }

  /** Fills `out` with the positions of the coarse nodes, of these normals, and of the middles of the edges. */
  bend(p, n, out) {
    out.set(p);
    for (let edge = 0, to = 3 * this.nodes; edge < this.ends.length; edge += 2, to += 3) {
      const [a, b] = [3 * this.ends[edge], 3 * this.ends[edge + 1]];
      const [x, y, z] = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
      // distance of the edge from the tangent plane of each end
      const off = x * n[a] + y * n[a + 1] + z * n[a + 2];
      const back = -(x * n[b] + y * n[b + 1] + z * n[b + 2]);
      for (let axis = 0; axis < 3; axis++) {
        out[to + axis] = 0.5 * (p[a + axis] + p[b + axis]) - (off * n[a + axis] + back * n[b + axis]) / 8;
      }
    }
  }
}

/** Normals of the nodes, from the areas of their faces. */
export function normals(p, f, n) {
  n.fill(0);
  for (let at = 0; at < f.length; at += 3) {
    const [a, b, c] = [3 * f[at], 3 * f[at + 1], 3 * f[at + 2]];
    const ux = p[b] - p[a], uy = p[b + 1] - p[a + 1], uz = p[b + 2] - p[a + 2];
    const vx = p[c] - p[a], vy = p[c + 1] - p[a + 1], vz = p[c + 2] - p[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    n[a] += x; n[a + 1] += y; n[a + 2] += z;
    n[b] += x; n[b + 1] += y; n[b + 2] += z;
    n[c] += x; n[c + 1] += y; n[c + 2] += z;
  }
  for (let at = 0; at < n.length; at += 3) {
    const size = Math.sqrt(n[at] * n[at] + n[at + 1] * n[at + 1] + n[at + 2] * n[at + 2]) || 1;
    n[at] /= size; n[at + 1] /= size; n[at + 2] /= size;
  }
}
