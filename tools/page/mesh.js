// A mesh of the machine's own file as three.js draws it.
import * as THREE from "three";
import { unpack } from "../../src/polhode/view/unpack.js";

// material: makes one of some options, tinted by the part where the mesh has no colours
export function meshOf(part, material) {
  const { places, normals, groups } = unpack(part.mesh), geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(places, 3)).setAttribute("normal", new THREE.BufferAttribute(normals, 3));
  const made = [], seen = part.color?.length > 7 ? parseInt(part.color.slice(7), 16) / 255 : 1;
  let first = 0;
  groups.forEach(([n, ink], k) => {
    geometry.addGroup(3 * first, 3 * n, k); first += n;
    const options = { side: THREE.DoubleSide, ...(seen < 1 && !ink ? { transparent: true, opacity: seen } : {}) };
    if (ink) made.push(new THREE.MeshStandardMaterial({ ...options, color: ink, roughness: 0.55, metalness: 0.05 }));
    else made.push(material(options));
  });
  return new THREE.Mesh(geometry, made.length === 1 ? made[0] : made);
}
