// Where the devices of a node stand in its picture: by NUMA node, then by PCIe switch, in rows of at most sixteen.

const most = 16;

// sizes are those of a picture at a zoom, in pixels.
export const zooms = [
  { cell: 7, gap: 1, part: 3, pad: 4, head: 0, space: 4 },
  { cell: 15, gap: 3, part: 6, pad: 8, head: 18, space: 8 },
  { cell: 44, gap: 4, part: 10, pad: 10, head: 22, space: 12 },
];

const made = new WeakMap();

// arrange gives each device a place. It is worked out once for each layout and zoom.
export function arrange(layout, zoom) {
  let byZoom = made.get(layout);
  if (!byZoom) made.set(layout, (byZoom = []));
  return (byZoom[zoom] ??= worked(layout, zooms[zoom]));
}

function worked(layout, size) {
  const order = layout.devices.map((_, i) => i).sort((a, b) => compare(layout.devices[a], layout.devices[b]) || a - b);
  const places = new Array(order.length);
  let x = 0, y = 0, inRow = 0, width = 0;
  order.forEach((i, n) => {
    const d = layout.devices[i];
    const before = n ? layout.devices[order[n - 1]] : null;
    if (inRow === most || (before && inRow >= most / 2 && before.numa !== d.numa && order.length > most)) {
      x = 0; inRow = 0; y += size.cell + size.gap + 6;
    } else if (before) {
      x += before.numa !== d.numa ? size.part : size.gap;
    }
    places[i] = { x, y };
    x += size.cell; inRow++;
    width = Math.max(width, x);
  });
  const row = (list) => spans(list, places, size.cell);
  const by = (key) => [...Map.groupBy(order.filter((i) => layout.devices[i][key] !== undefined), (i) => layout.devices[i][key])].flatMap(([name, list]) => row(list).map((s) => ({ ...s, name, count: list.length })));
  return {
    places, width, height: y + size.cell, order,
    numa: by('numa'), switches: by('switch').filter((s) => s.count > 1 || (layout.nics ?? []).some((n) => n.switch === s.name)),
    domains: (layout.domains ?? []).flatMap((d, at) => row(d.members).map((s) => ({ ...s, kind: d.kind, at }))),
  };
}

function compare(a, b) {
  return (a.numa ?? -1) - (b.numa ?? -1) || (a.switch ?? -1) - (b.switch ?? -1);
}

// spans are the stretches that places cover, one for each row.
function spans(list, places, cell) {
  return [...Map.groupBy(list, (i) => places[i].y)].map(([y, row]) => ({
    y, from: Math.min(...row.map((i) => places[i].x)), to: Math.max(...row.map((i) => places[i].x)) + cell,
  }));
}
