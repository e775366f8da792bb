// Hands on bodies, as many as there are fingers: what each holds is pulled to where it is. A line shows the pull.
import * as THREE from "three";

const MOST = 10;         // that the server lets a page have

export class Hands {
  constructor(send) { this.send = send; this.held = new Set(); this.lines = []; this.machine = null; }

  begin(machine) {
    this.machine = machine; this.held.clear();
    this.lines = Array.from({ length: MOST }, () => {
      const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
      const line = machine.add(new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: "#e0473e" })));
      line.frustumCulled = line.visible = false;
      return line;
    });
  }

  clear() { this.held.clear(); }

  grab(frame, local, target) {         // a hand, or null where there are as many as may be
    const taken = new Set([...this.held].map(hand => hand.number));
    const number = Array.from({ length: MOST }, (_, k) => k).find(k => !taken.has(k));
    if (!this.machine || number === undefined) return null;
    const hand = { number, frame, local: local.clone(), target: target.clone(), sent: true };
    this.held.add(hand);
    this.send({ do: "grab", frame, point: local.toArray(), hand: number });
    return hand;
  }

  move(hand, target) { hand.target.copy(target); hand.sent = false; }

  drop(hand) { if (this.held.delete(hand)) this.send({ do: "drop", hand: hand.number }); }

  point(hand) { return this.machine.groups[hand.frame].localToWorld(hand.local.clone()); }

  draw() {
    for (const line of this.lines) line.visible = false;
    for (const hand of this.held) {
      if (!hand.sent) { hand.sent = true; this.send({ do: "drag", point: hand.target.toArray(), hand: hand.number }); }
      this.lines[hand.number].visible = true;
      this.machine.write(this.lines[hand.number].geometry, [this.point(hand), hand.target]);
    }
  }
}
