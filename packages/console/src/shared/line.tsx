import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { depthHistory } from '../queues.ts';
import { count } from './format.ts';

const hourSeconds = 3_600;

function styleOf(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** Draws the depths of a queue; with axes if it is large. Returns what removes it and what draws it again. */
function draw(element: HTMLElement, name: string, isLarge: boolean) {
  const stroke = () => styleOf(element, '--line');
  const axis: uPlot.Axis = {
    show: isLarge,
    stroke: () => styleOf(element, '--muted'),
    grid: { stroke: () => styleOf(element, '--border'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const now = () => Date.now() / 1_000;
  const plot = new uPlot(
    {
      width: element.clientWidth || 120,
      height: element.clientHeight || 24,
      padding: isLarge ? [8, 8, 0, 0] : [2, 0, 2, 0],
      legend: { show: false },
      cursor: { show: isLarge, drag: { x: false, y: false } },
      scales: {
        x: { time: true, range: () => [now() - hourSeconds, now()] },
        y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.05)] },
      },
      axes: [axis, { ...axis, size: 48, values: (_plot, values) => values.map((value) => count(value)) }],
      series: [{}, { stroke, width: 1, points: { show: false } }],
    },
    dataOf(name),
    element,
  );
  return plot;
}

function dataOf(name: string): uPlot.AlignedData {
  const { times, depths } = depthHistory(name);
  return [times, depths];
}

/**
 * Line of a queue's depth over the last hour, as far as this page has seen it. `depth` is the current one: a new
 * poll draws the line again.
 */
export function DepthLine({ name, depth, isLarge = false }: { name: string; depth: number; isLarge?: boolean }) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  useEffect(() => {
    const holder = element.current!;
    plot.current = draw(holder, name, isLarge);
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: holder.clientWidth, height: holder.clientHeight }),
    );
    resized.observe(holder);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [name, isLarge]);
  // Each render is a poll: the line moves on even where the depth stays.
  useEffect(() => plot.current?.setData(dataOf(name)));
  const { depths } = depthHistory(name);
  const most = depths.reduce((one, other) => Math.max(one, other), depth);
  const label = `Depth while this page was open: now ${count(depth)}, at most ${count(most)}`;
  return <div ref={element} className={isLarge ? 'line large' : 'line'} role="img" aria-label={label} title={label} />;
}
