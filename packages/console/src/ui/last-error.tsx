import type { OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import { hasFailed } from '../queues.ts';
import { TraceLink } from './links.tsx';
import { Elapsed, Time } from './time.tsx';

/** An error: `HTTP 500, 8 s ago, trace` or `HTTP 500 for 2 h`; a dash if there is none. */
export function ErrorLine(props: {
  text: string | null;
  at?: string | null;
  since?: string | null;
  trace?: string | null;
}) {
  const { text, at, since, trace } = props;
  if (!text) return <span className="none">–</span>;
  return (
    <>
      <span className="error-text">{text}</span>
      {since && (
        <>
          {' '}
          for <Elapsed since={since} />
        </>
      )}
      {at && (
        <>
          , <Time at={at} />
        </>
      )}
      {trace && (
        <>
          , <TraceLink id={trace} />
        </>
      )}
    </>
  );
}

/** A queue's last error with its age, dimmed once no failed entry is left; a dash if there is none. */
export function LastError({ queue }: { queue: Omit<Queue, 'history'> }) {
  const { last_error, last_error_at } = queue;
  return (
    <span className={hasFailed(queue) ? undefined : 'past'}>
      <ErrorLine text={last_error} at={last_error_at} />
    </span>
  );
}

/** An endpoint's last error with its age and trace; a dash if there is none. */
export function EndpointError({ endpoint }: { endpoint: OperatedEndpoint }) {
  const { last_error, last_error_at, last_error_trace_id } = endpoint;
  return <ErrorLine text={last_error} at={last_error_at} trace={last_error_trace_id} />;
}
