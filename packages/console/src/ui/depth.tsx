import { useMemo } from 'react';
import { depthHistory, useQueues } from '../queues.ts';
import { Chart, Line } from './chart.tsx';

/** The depths of a queue as far as the gateway or this page has seen it, renewed with each poll. */
function useDepths(name: string) {
  const { dataUpdatedAt } = useQueues();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a poll adds to the history
  return useMemo(() => depthHistory(name), [name, dataUpdatedAt]);
}

/** Entries of a queue over the last hour: those that are due, and those that are due later. */
export function DepthChart(props: { name: string; title: string; size?: 'small' | 'large' }) {
  const { name, title, size = 'small' } = props;
  const { times, due, waiting } = useDepths(name);
  return (
    <Chart
      title={title}
      size={size}
      times={times}
      series={[
        { label: 'due', colour: 1, values: due },
        { label: 'later', colour: 2, values: waiting },
      ]}
    />
  );
}

/** All entries of a queue over the last hour, as a line in a table. */
export function DepthLine({ name }: { name: string }) {
  const { times, due, waiting } = useDepths(name);
  const values = useMemo(
    () => due.map((value, index) => (value === null ? null : value + (waiting[index] ?? 0))),
    [due, waiting],
  );
  return <Line times={times} series={[{ label: 'depth', colour: 1, values }]} />;
}
