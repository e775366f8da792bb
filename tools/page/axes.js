// Axes of the world, of bodies and of markers: x red, y green, z blue, on top of the machine.
import * as THREE from "three";

const INKS = ["#e5484d", "#2f9e5f", "#3e7bfa"], TURNS = [[0, Math.PI / 2, 0], [-Math.PI / 2, 0, 0], [0, 0, 0]];

export class Axes {
  begin(scene, machine) {
    const long = 0.09 * scene.size, bar = new THREE.CylinderGeometry(0.035, 0.035, 1, 8).rotateX(Math.PI / 2).translate(0, 0, 0.5);
    const looks = INKS.map(color => new THREE.MeshBasicMaterial({ color, depthTest: false, transparent: true }));
    this.triads = scene.axes.map(({ name, kind, frame, pose }) => {
      const triad = new THREE.Group();
      triad.name = name; triad.visible = false; triad.matrixAutoUpdate = false;
      triad.matrix.set(...pose.flat()).scale(new THREE.Vector3(1, 1, 1).multiplyScalar(kind === "marker" ? 0.55 * long : long));
      triad.add(...looks.map((look, k) => {
        const axis = new THREE.Mesh(bar, look);
        axis.rotation.set(...TURNS[k]); axis.renderOrder = 9;
        return axis;
      }));
      machine.groups[frame].add(triad);
      return triad;
    });
  }

  show(yes) { for (const triad of this.triads ?? []) triad.visible = yes; }
}
