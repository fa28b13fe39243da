import { useMemo } from 'react';
import { depthHistory, useQueues } from '../queues.ts';
import { Chart, Line } from './chart.tsx';

/** Returns a queue's depth history, updated with each poll. */
function useDepths(name: string) {
  const { dataUpdatedAt } = useQueues();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a poll adds to the history
  return useMemo(() => depthHistory(name), [name, dataUpdatedAt]);
}

/** A chart of a queue's due and waiting entries over the last hour. */
export function DepthChart(props: { name: string; title: string; size?: 'small' | 'large' }) {
  const { name, title, size = 'small' } = props;
  const { times, due, waiting } = useDepths(name);
  return (
    <Chart
      title={title}
      size={size}
      times={times}
      series={[
        { label: 'due', color: 1, values: due },
        { label: 'later', color: 2, values: waiting },
      ]}
    />
  );
}

/** A line of a queue's entries over the last hour, for a table row. */
export function DepthLine({ name }: { name: string }) {
  const { times, due, waiting } = useDepths(name);
  const values = useMemo(
    () => due.map((value, index) => (value === null ? null : value + (waiting[index] ?? 0))),
    [due, waiting],
  );
  return <Line times={times} series={[{ label: 'depth', color: 1, values }]} />;
}
