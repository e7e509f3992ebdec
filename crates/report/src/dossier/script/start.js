// Puts the parts in their places: the list of runs at once, because a search of the
// page must find them, each chart when it comes near the screen.
//
// D.runs[i]: n name, l levels (their numbers in D.factors[j].v), r responses,
// k standing, o outcome, d duration in seconds, q what disturbed it, h by what it
// was held most, t time lines per node, u mean and peak per node, p phases, e
// events, c curves, w workers, x processes.

const D = JSON.parse(document.getElementById('data').textContent);
const parts = {};
let current = 0;

function select(index) {
  current = Math.min(Math.max(0, index), D.runs.length - 1);
  Object.values(parts).forEach((part) => (part.show ? part.show(current) : part.select(current)));
}

function start(id, begin, atOnce) {
  const host = document.getElementById(id);
  if (!host) return;
  const now = () => {
    if (parts[id]) return;
    parts[id] = begin(host);
    if (parts[id].show) parts[id].show(current); else parts[id].select(current);
  };
  if (atOnce) { now(); return; }
  const near = new IntersectionObserver((seen) => {
    if (seen.some((entry) => entry.isIntersecting)) { near.disconnect(); now(); }
  }, { rootMargin: '600px' });
  near.observe(host);
  // Paper has no screen to come near to.
  window.addEventListener('beforeprint', now);
}

// The first run that has something to show.
current = Math.max(0, D.runs.findIndex((run) => run.t && run.t.length && run.k === 0));
start('runlist', (host) => new RunList(host), true);
start('timeline', (host) => new Timeline(host));
start('overlay', (host) => new Overlay(host));
start('curvechart', (host) => new Curves(host));

const redraw = () => ['timeline', 'overlay', 'curvechart'].forEach((id) => { if (parts[id] && parts[id].plot) parts[id].draw(); });
let waiting = 0;
window.addEventListener('resize', () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(redraw); });
window.addEventListener('beforeprint', () => {
  document.querySelectorAll('details').forEach((details) => { details.open = true; });
  redraw();
});
window.addEventListener('afterprint', redraw);
