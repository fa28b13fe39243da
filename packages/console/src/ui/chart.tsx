import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { count } from './format.ts';

/** A line of a chart. Its color is one of three series colors in the CSS. */
export interface Series {
  label: string;
  color: 1 | 2 | 3;
  /** One value per time. Null is a gap. */
  values: (number | null)[];
}

interface Drawn {
  /** In seconds, ascending. */
  times: number[];
  series: Series[];
  /** Formats a value with its unit. */
  format?: (value: number) => string;
}

const hourSeconds = 3_600;
/** Shortest time span of a chart in seconds, since a new gateway has little data. */
const leastSeconds = 300;
/** Possible distances between ticks of the time axis in seconds. */
const tickSeconds = [60, 300, 600, 900, 1_800];

function styleOf(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

/** Returns a point's time of day. */
function clockTime(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** The form of a chart: a line in a table row, a small chart, or a large chart. */
type Size = 'line' | 'small' | 'large';

function draw(holder: HTMLElement, size: Size, drawn: () => Drawn, point: (index: number | null) => void): uPlot {
  const isLarge = size === 'large';
  const axis: uPlot.Axis = {
    show: size !== 'line',
    stroke: () => styleOf(holder, '--muted'),
    grid: { stroke: () => styleOf(holder, '--border'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
    gap: 4,
  };
  const now = () => Date.now() / 1_000;
  const since = () => Math.max(now() - hourSeconds, Math.min(drawn().times[0] ?? now(), now() - leastSeconds));
  const format = (value: number) => (drawn().format ?? count)(value);
  return new uPlot(
    {
      width: holder.clientWidth || 120,
      height: holder.clientHeight || 20,
      padding: size === 'line' ? [2, 2, 2, 0] : [8, 12, 0, 0],
      legend: { show: false },
      // The cursors of all charts on a page show the same time.
      cursor: {
        drag: { x: false, y: false },
        points: { size: 6 },
        ...(size === 'line' ? {} : { sync: { key: 'charts' } }),
      },
      scales: {
        x: { time: true, range: () => [since(), now()] },
        y: { range: (_plot, _min, max) => [0, Math.max(1, (max ?? 0) * 1.05)] },
      },
      axes: [
        {
          ...axis,
          size: 20,
          incrs: isLarge ? tickSeconds : [900, 1_800],
          values: (_plot, ticks) => ticks.map(clockTime),
        },
        {
          ...axis,
          size: isLarge ? 64 : 48,
          space: isLarge ? 30 : 24,
          values: (_plot, values) =>
            values.map((value) => (value === 0 ? '0' : Number.isInteger(value) || drawn().format ? format(value) : '')),
        },
      ],
      series: [
        {},
        ...drawn().series.map(({ color }): uPlot.Series => {
          const stroke = () => styleOf(holder, `--series-${color}`);
          return {
            stroke,
            width: size === 'line' ? 1 : 1.5,
            // A point between two gaps has no line, so draw it as a dot.
            points: { show: false, size: 4, filter: (plot, index) => lonePoints(plot.data[index]!) },
            ...(drawn().series.length === 1 && size !== 'line' ? { fill: () => `${stroke()}22` } : {}),
          };
        }),
      ],
      hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
    },
    dataOf(drawn()),
    holder,
  );
}

function dataOf({ times, series }: Drawn): uPlot.AlignedData {
  return [times, ...series.map(({ values }) => values)];
}

/** Returns the indexes of values with gaps on both sides. */
function lonePoints(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values, (value, index) =>
    value != null && values[index - 1] == null && values[index + 1] == null ? index : -1,
  ).filter((index) => index >= 0);
}

/** Draws series into an element. Returns the element's ref and the index under the cursor, or null. */
function usePlot(drawn: Drawn, size: Size) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(drawn);
  useEffect(() => {
    latest.current = drawn;
  });
  const [index, setIndex] = useState<number | null>(null);
  useEffect(() => {
    const holder = element.current!;
    plot.current = draw(holder, size, () => latest.current, setIndex);
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: holder.clientWidth, height: holder.clientHeight }),
    );
    resized.observe(holder);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [size]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the values of all series change with their times
  useEffect(() => {
    plot.current?.setData(dataOf(drawn));
  }, [drawn.times]);
  return { element, index };
}

/** Returns a text alternative: the current and the highest value of each series. */
function textOf({ series, format = count }: Drawn): string {
  return series
    .map(({ label, values }) => {
      const last = values.at(-1) ?? null;
      const most = values.reduce<number>((one, other) => Math.max(one, other ?? 0), 0);
      return `${label} now ${last === null ? 'unknown' : format(last)}, at most ${format(most)}`;
    })
    .join('; ');
}

/**
 * A chart of the last hour. Its legend has the values under the cursor, or else the last ones. A new `times` array redraws it.
 */
export function Chart({ title, size = 'small', ...drawn }: Drawn & { title: string; size?: 'small' | 'large' }) {
  const { element, index } = usePlot(drawn, size);
  const { times, series, format = count } = drawn;
  const at = index === null ? undefined : times[index];
  return (
    <figure className={size === 'large' ? 'chart large' : 'chart'}>
      <figcaption>
        <span>{title}</span>
        <span className="muted">{at === undefined ? 'last hour' : `at ${clockTime(at)}`}</span>
        <ul className="legend">
          {series.map(({ label, color, values }) => {
            const value = index === null ? values.at(-1) : values[index];
            return (
              <li key={label}>
                {series.length > 1 && <span className="swatch" style={{ background: `var(--series-${color})` }} />}
                <span className="value">{value == null ? '–' : format(value)}</span>
                {series.length > 1 && <span className="muted">{label}</span>}
              </li>
            );
          })}
        </ul>
      </figcaption>
      <div ref={element} className="plot" role="img" aria-label={`${title}: ${textOf(drawn)}`} />
      {times.length === 0 && <span className="unseen">no data in the last hour</span>}
    </figure>
  );
}

/** A chart as a line in a table row, with its text alternative as the title. */
export function Line(drawn: Drawn) {
  const { element, index } = usePlot(drawn, 'line');
  const { times, series, format = count } = drawn;
  const values = series[0]!.values;
  const pointed = index === null ? null : values[index];
  const label = `Last hour: ${textOf(drawn)}`;
  const title = pointed == null ? label : `${format(pointed)} at ${clockTime(times[index!]!)}`;
  return <div ref={element} className="line" role="img" aria-label={label} title={title} />;
}
