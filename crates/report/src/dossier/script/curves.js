// Learning curves: every run quiet or by a factor, the selected one strong.

const CURVES_SHOWN = 300;

class Curves {
  constructor(host) {
    this.host = host;
    // What was measured on held-out data says most.
    const wanted = [/^(test|val).*acc/i, /^acc/i, /^(test|val).*loss/i, /^loss/i, /acc|loss/i];
    const found = wanted.map((name) => D.metrics.findIndex((metric) => name.test(metric)));
    this.metric = Math.max(0, found.find((at) => at >= 0) || 0);
    this.by = '';
    this.along = 'step';
    this.decoded = new Map();
    this.selected = 0;
    this.build();
  }

  build() {
    const again = (set) => (value) => { set(value); this.draw(); };
    const tools = make('div', { class: 'tools' });
    if (D.metrics.length > 1) tools.append(menu('Metric', D.metrics.map((name, i) => [String(i), name]), String(this.metric), again((v) => { this.metric = Number(v); })));
    tools.append(menu('Along', [['step', 'steps'], ['time', 'time']], this.along, again((v) => { this.along = v; })));
    const telling = D.factors.map((factor, i) => [String(i), factor.n]).filter(([i]) => D.factors[i].v.length <= 6);
    if (telling.length) tools.append(menu('Tell apart by', [['', 'nothing'], ...telling], this.by, again((v) => { this.by = v; })));
    this.plot = make('div', { class: 'plot' });
    this.readout = make('p', { class: 'readline', role: 'status' });
    this.legend = make('p', { class: 'legend' });
    this.host.replaceChildren(tools, this.legend, this.plot, this.readout);
    this.plot.addEventListener('pointermove', (event) => this.hover(event));
    this.plot.addEventListener('pointerleave', () => this.lift());
    this.draw();
  }

  select(index) { this.selected = index; this.draw(); }

  curve(index) {
    const mark = `${index}/${this.metric}`;
    if (!this.decoded.has(mark)) {
      const found = (D.runs[index].c || []).find((c) => c[0] === this.metric);
      const line = (c) => ({
        step: c[1] ? numbers(c[1], Float32Array) : null,
        time: numbers(c[2], Float32Array),
        value: numbers(c[3], Float32Array),
      });
      // Where several ranks reported it, the curve is their mean.
      this.decoded.set(mark, found ? { index, ...line(found), ranks: (found[4] || []).map(line) } : null);
    }
    return this.decoded.get(mark);
  }

  // The runs that are drawn: all of them, or evenly spaced ones and the
  // selected one.
  shown() {
    const all = D.runs.map((_, i) => i).filter((i) => (D.runs[i].c || []).some((c) => c[0] === this.metric));
    const every = Math.ceil(all.length / CURVES_SHOWN);
    const some = all.filter((run, i) => i % every === 0 || run === this.selected);
    this.all = all.length;
    return some.map((i) => this.curve(i));
  }

  xs(curve) { return this.along === 'step' && curve.step ? curve.step : curve.time; }

  look(run) {
    if (this.by === '') return null;
    const level = D.runs[run].l[Number(this.by)];
    return typeof level === 'number' ? level : null;
  }

  draw() {
    const width = Math.max(280, this.plot.clientWidth || 720);
    const height = 300;
    const box = { left: 62, right: width - 12, top: 10, bottom: height - 42 };
    const curves = this.shown();
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    const ranks = curves.filter((curve) => curve.index === this.selected).flatMap((curve) => curve.ranks);
    [...curves, ...ranks].forEach((curve) => {
      this.xs(curve).forEach((x) => { x0 = Math.min(x0, x); x1 = Math.max(x1, x); });
      curve.value.forEach((v) => { if (Number.isFinite(v)) { y0 = Math.min(y0, v); y1 = Math.max(y1, v); } });
    });
    if (!(x0 <= x1)) { [x0, x1] = [0, 1]; }
    if (!(y0 <= y1)) { [y0, y1] = [0, 1]; }
    const pad = (y1 - y0 || Math.abs(y1) || 1) * 0.05;
    [y0, y1] = [y0 - pad, y1 + pad];
    const x = (v) => box.left + ((v - x0) / (x1 - x0 || 1)) * (box.right - box.left);
    const y = (v) => box.bottom - ((v - y0) / (y1 - y0)) * (box.bottom - box.top);
    const name = D.metrics[this.metric];
    const svg = shape('svg', { class: 'pl chart', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
    svg.append(shape('title', {}, this.described(curves, name)));
    const ys = ticks(y0, y1, 5);
    const yl = tickLabels(ys);
    svg.append(shape('path', { class: 'g', d: ys.map((v) => `M${box.left} ${round(y(v))}H${box.right}`).join('') }));
    ys.forEach((v, i) => svg.append(shape('text', { class: 'm', x: box.left - 7, y: round(y(v) + 4), 'text-anchor': 'end' }, yl[i])));
    const xt = ticks(x0, x1, width / 90);
    const xl = tickLabels(xt);
    svg.append(shape('path', { class: 'x', d: `M${box.left} ${box.top}V${box.bottom}H${box.right}${xt.map((v) => `M${round(x(v))} ${box.bottom}v4`).join('')}` }));
    xt.forEach((v, i) => svg.append(shape('text', { class: 'm', x: round(x(v)), y: box.bottom + 17, 'text-anchor': 'middle' }, xl[i])));
    const stepped = this.along === 'step' && curves.every((curve) => curve.step);
    svg.append(shape('text', { x: (box.left + box.right) / 2, y: height - 6, 'text-anchor': 'middle' }, stepped ? 'step' : 'seconds since the start'));
    const up = `rotate(-90 13 ${(box.top + box.bottom) / 2})`;
    svg.append(shape('text', { x: 13, y: (box.top + box.bottom) / 2, 'text-anchor': 'middle', transform: up }, name));
    const faint = curves.length > 40 ? ' faint' : '';
    const d = (curve) => { const xs = this.xs(curve); return path(Array.from(curve.value, (v, i) => (Number.isFinite(v) ? [x(xs[i]), y(v)] : null))); };
    curves.forEach((curve) => {
      if (curve.index === this.selected) return;
      const look = this.look(curve.index);
      svg.append(shape('path', { class: (look === null ? 'h q' : `${lineClass(look)} thin`) + faint, d: d(curve) }));
    });
    ranks.forEach((rank) => svg.append(shape('path', { class: 'h q', d: d(rank) })));
    const own = curves.find((curve) => curve.index === this.selected);
    this.strong = shape('path', { class: 'strong', d: own ? d(own) : '' });
    this.point = shape('path', { class: 'dot k', d: '' });
    svg.append(this.strong, this.point);
    this.scene = { curves, x, y, box, d, own };
    this.plot.replaceChildren(svg);
    this.legends(curves.length, ranks.length);
    this.tell(own, own ? own.value.length - 1 : 0);
  }

  described(curves, name) {
    const ends = curves.map((curve) => curve.value[curve.value.length - 1]).filter(Number.isFinite).sort((a, b) => a - b);
    if (!ends.length) return `${name}: no values`;
    return `${name} of ${this.all} runs; the last values lie from ${significant(ends[0])} to ${significant(ends[ends.length - 1])}, half of them below ${significant(ends[ends.length >> 1])}`;
  }

  legends(drawn, ranks) {
    this.legend.replaceChildren();
    if (this.by !== '') {
      const factor = D.factors[Number(this.by)];
      this.legend.append(`${factor.n}: `);
      factor.v.forEach((level, i) => this.legend.append(key(i), `${level} `));
    }
    if (ranks) this.legend.append(`The strong line is the mean of the ranks; ${ranks} of them are drawn quiet. `);
    if (drawn < this.all) this.legend.append(`${drawn} of ${this.all} curves are drawn, evenly spaced.`);
  }

  // Writes the value of a curve at one of its points.
  tell(curve, at) {
    if (!curve) { this.point.setAttribute('d', ''); this.readout.textContent = ''; return; }
    const run = D.runs[curve.index];
    const value = curve.value[at];
    const where = curve.step ? `step ${curve.step[at]}, ${seconds(curve.time[at])}` : seconds(curve.time[at]);
    const who = D.study ? `${run.n} (${describe(run)})` : run.n;
    this.readout.textContent = `${who}: ${D.metrics[this.metric]} ${significant(value)} at ${where}`;
    const { x, y } = this.scene;
    this.point.setAttribute('d', Number.isFinite(value) ? `M${round(x(this.xs(curve)[at]))} ${round(y(value))}h0` : '');
  }

  hover(event) {
    const { curves, x, y, d } = this.scene;
    const box = this.plot.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    curves.forEach((curve) => {
      const xs = this.xs(curve);
      curve.value.forEach((v, i) => {
        const far = (x(xs[i]) - px) ** 2 + (y(v) - py) ** 2;
        if (!best || far < best.far) best = { far, curve, i };
      });
    });
    if (!best) return;
    this.strong.setAttribute('d', d(best.curve));
    this.tell(best.curve, best.i);
  }

  lift() {
    const { own, d } = this.scene;
    this.strong.setAttribute('d', own ? d(own) : '');
    this.tell(own, own ? own.value.length - 1 : 0);
  }
}
