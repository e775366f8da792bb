// Trails of points over the last seconds: those of the picture, or those that were chosen instead.
import * as THREE from "three";

const POINTS = 240, SECONDS = 2;

class Trail {
  constructor(machine, part) {
    this.frame = part.bodies[0]; this.point = new THREE.Vector3(...part.points[0]); this.group = machine.groups[this.frame]; this.seen = [];
    this.line = machine.line(part, POINTS, { transparent: true, opacity: 0.7 });
    this.line.geometry.setDrawRange(0, 0);
  }

  move({ t }) {
    const { seen } = this, last = seen[seen.length - 1], position = this.line.geometry.attributes.position;
    if (last && t < last.t) seen.length = 0;
    if (!seen.length || t > seen[seen.length - 1].t) seen.push({ t, p: this.group.localToWorld(this.point.clone()) });
    while (seen.length > POINTS || (seen.length && seen[0].t < t - SECONDS)) seen.shift();
    seen.forEach(({ p }, k) => position.setXYZ(k, p.x, p.y, p.z));
    this.line.geometry.setDrawRange(0, seen.length); position.needsUpdate = true;
  }
}

export class Trails {
  constructor(machine) { this.machine = machine; this.usual = []; this.chosen = []; this.shown = true; machine.moving.push(head => this.all.forEach(trail => trail.move(head))); }

  get all() { return [...this.usual, ...this.chosen]; }

  add(part) { const made = new Trail(this.machine, part); this.usual.push(made); return made.line; }

  // points of frames, { bodies: [frame], points: [[x, y, z]] }; none for the usual ones
  choose(points) {
    for (const { line } of this.chosen) { line.removeFromParent(); line.geometry.dispose(); this.machine.forget(line.material); }
    this.chosen = points.map(each => new Trail(this.machine, { ...each, role: "accent" }));
    this.show(this.shown);
  }

  show(yes) {
    this.shown = yes;
    for (const { line } of this.usual) line.visible = yes && !this.chosen.length;
    for (const { line } of this.chosen) line.visible = yes;
  }
}
