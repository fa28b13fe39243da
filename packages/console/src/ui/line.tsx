import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { depthHistory, useQueues } from '../queues.ts';
import { count } from './format.ts';

const hourSeconds = 3_600;
/** Shortest time that a line shows in seconds: a gateway just started has little to show. */
const leastSeconds = 300;
/** Distances between times on the axis in seconds. */
const tickSeconds = [60, 300, 600, 900, 1_800];

function styleOf(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** Draws the depths of a queue; with axes if it is large. */
function draw(element: HTMLElement, name: string, isLarge: boolean): uPlot {
  const stroke = () => styleOf(element, '--line');
  const axis: uPlot.Axis = {
    show: isLarge,
    stroke: () => styleOf(element, '--muted'),
    grid: { stroke: () => styleOf(element, '--border'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const now = () => Date.now() / 1_000;
  const since = () =>
    Math.max(now() - hourSeconds, Math.min(depthHistory(name).times[0] ?? now(), now() - leastSeconds));
  return new uPlot(
    {
      width: element.clientWidth || 120,
      height: element.clientHeight || 24,
      padding: isLarge ? [8, 24, 0, 0] : [2, 0, 2, 0],
      legend: { show: false },
      cursor: { show: isLarge, drag: { x: false, y: false } },
      scales: {
        x: { time: true, range: () => [since(), now()] },
        y: { range: (_plot, _min, max) => [0, Math.max(1, max * 1.05)] },
      },
      axes: [
        { ...axis, size: 24, incrs: tickSeconds, values: (_plot, ticks) => ticks.map(clockTime) },
        { ...axis, size: 48, values: (_plot, values) => values.map((value) => count(value)) },
      ],
      series: [{}, { stroke, width: 1, points: { show: false } }],
    },
    dataOf(name),
    element,
  );
}

/** Returns the time of day of an axis's tick. */
function clockTime(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

function dataOf(name: string): uPlot.AlignedData {
  const { times, depths } = depthHistory(name);
  return [times, depths];
}

/**
 * Line of a queue's depth over the last hour, as far as the gateway or this page has seen it. `depth` is the current
 * one: a new poll draws the line again.
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
  const { dataUpdatedAt } = useQueues();
  // The line moves on with each poll, even where the depth stays.
  useEffect(() => {
    if (dataUpdatedAt > 0) plot.current?.setData(dataOf(name));
  }, [name, dataUpdatedAt]);
  const { depths } = depthHistory(name);
  const most = depths.reduce((one, other) => Math.max(one, other), depth);
  const label = `Depth of the last hour: now ${count(depth)}, at most ${count(most)}`;
  return <div ref={element} className={isLarge ? 'line large' : 'line'} role="img" aria-label={label} title={label} />;
}
