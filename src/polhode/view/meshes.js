// Paints meshes: the nearest triangle at each pixel by WebGL, or where there is none all of them, the far ones first.
const meshes = (() => {
  const shown = parts.filter(part => part.mesh).map(part => ({ part, ...unpack(part.mesh) }));
  const rgb = text => [1, 3, 5].map(k => parseInt(text.slice(k, k + 2), 16) / 255), whole = text => text.length > 7 ? parseInt(text.slice(7, 9), 16) / 255 : 1;
  const inkOf = (part, ink) => { const text = ink || color(part); return [...rgb(text.startsWith("#") && text.length > 6 ? text : "#8b95a0"), ink ? 1 : whole(text)]; };
  const pane = document.createElement("canvas"), gl = shown.length ? pane.getContext("webgl", { antialias: true, premultipliedAlpha: true }) : null;
  let program = null, at = {};
  function make() {
    program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, `attribute vec3 p, n; uniform mat4 X; uniform mat4 C; uniform mat3 R; varying vec3 v;
        void main() { gl_Position = C * (X * vec4(p, 1.0)); v = R * n; }`],
      [gl.FRAGMENT_SHADER, `precision mediump float; varying vec3 v; uniform vec4 ink; uniform vec3 back;
        void main() { vec3 n = normalize(v); if (dot(n, back) < 0.0) n = -n;
          float l = 0.5 + 0.36 * max(dot(n, vec3(0.35, -0.5, 0.79)), 0.0) + 0.22 * max(dot(n, back), 0.0);
          gl_FragColor = vec4(ink.rgb * l * ink.a, ink.a); }`]]) {
      const shader = gl.createShader(kind); gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    for (const name of ["X", "C", "R", "ink", "back"]) at[name] = gl.getUniformLocation(program, name);
    for (const mesh of shown) mesh.buffers = [mesh.places, mesh.normals].map(data => { const b = gl.createBuffer(); gl.bindBuffer(gl.ARRAY_BUFFER, b); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW); return b; });
    gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }
  function lens() {                               // the camera of project(), as a matrix by columns
    const { right, up, back } = basis, t = camera.target, near = 0.05 * camera.distance, far = 60 * camera.distance;
    const row = (a, s) => [...a.map(e => e * s), -dot(a, ...t) * s], depth = [...back.map(e => -e), camera.distance + dot(back, ...t)];
    const a = (far + near) / (far - near), b = -2 * far * near / (far - near);
    const rows = [row(right, height / width / FOV), row(up, 1 / FOV), depth.map((e, k) => a * e + (k === 3 ? b : 0)), depth];
    return rows[0].flatMap((_, k) => rows.map(r => r[k]));
  }
  function glass(poses, ratio) {
    if (!program) make();
    pane.width = canvas.width; pane.height = canvas.height;
    gl.viewport(0, 0, pane.width, pane.height); gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.useProgram(program); gl.uniformMatrix4fv(at.C, false, lens()); gl.uniform3fv(at.back, basis.back);
    const clear = mesh => whole(color(mesh.part)) < 1;
    for (const mesh of [...shown].sort((a, b) => clear(a) - clear(b))) {  // what is half seen comes last
      if (!there(mesh.part.when)) continue;
      const X = poses[mesh.part.body], R = [X[0], X[3], X[6], X[1], X[4], X[7], X[2], X[5], X[8]];
      gl.uniformMatrix4fv(at.X, false, [X[0], X[3], X[6], 0, X[1], X[4], X[7], 0, X[2], X[5], X[8], 0, X[9], X[10], X[11], 1]); gl.uniformMatrix3fv(at.R, false, R);
      ["p", "n"].forEach((name, k) => { const a = gl.getAttribLocation(program, name); gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffers[k]); gl.enableVertexAttribArray(a); gl.vertexAttribPointer(a, 3, gl.FLOAT, false, 0, 0); });
      let first = 0;
      for (const [n, ink] of mesh.groups) { gl.uniform4fv(at.ink, inkOf(mesh.part, ink)); gl.drawArrays(gl.TRIANGLES, 3 * first, 3 * n); first += n; }
    }
    pen.drawImage(pane, 0, 0, width, height);
  }
  function paper(poses) {
    const all = [], out = new Float32Array(9);
    for (const mesh of shown) {
      if (!there(mesh.part.when)) continue;
      const X = poses[mesh.part.body], w = new Float32Array(9); let t = 0;
      for (const [n, ink] of mesh.groups) {
        const [r, g, b, a] = inkOf(mesh.part, ink);
        for (let k = 0; k < n; k++, t++) {
          for (let j = 0; j < 3; j++) for (let d = 0; d < 3; d++) { const o = 9 * t + 3 * j; w[3 * j + d] = X[3 * d] * mesh.places[o] + X[3 * d + 1] * mesh.places[o + 1] + X[3 * d + 2] * mesh.places[o + 2] + X[9 + d]; }
          for (let j = 0; j < 3; j++) project(w[3 * j], w[3 * j + 1], w[3 * j + 2], out, 3 * j);
          if (!out[2] || !out[5] || !out[8]) continue;
          const u = [0, 1, 2].map(d => w[3 + d] - w[d]), v = [0, 1, 2].map(d => w[6 + d] - w[d]);
          let m = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]; const l = Math.hypot(...m) || 1, s = dot(basis.back, ...m) < 0 ? -1 / l : 1 / l;
          const lit = 255 * (0.5 + 0.36 * Math.max(0, s * dot([0.35, -0.5, 0.79], ...m)) + 0.22 * Math.max(0, s * dot(basis.back, ...m)));
          all.push([out[2] + out[5] + out[8], [out[0], out[1], out[3], out[4], out[6], out[7]], `rgba(${r * lit | 0}, ${g * lit | 0}, ${b * lit | 0}, ${a})`]);
        }
      }
    }
    pen.lineWidth = 0.6; pen.lineJoin = "round";
    for (const [, p, ink] of all.sort((a, b) => a[0] - b[0])) { pen.fillStyle = pen.strokeStyle = ink; pen.beginPath(); pen.moveTo(p[0], p[1]); pen.lineTo(p[2], p[3]); pen.lineTo(p[4], p[5]); pen.closePath(); pen.fill(); pen.stroke(); }
  }
  return { count: shown.length, draw(poses, ratio) { if (shown.length) gl && !gl.isContextLost() ? glass(poses, ratio) : paper(poses); } };
})();
