import type { Queue } from '@customer-platform/contracts/accounts';
import { hasFailed } from '../queues.ts';
import { Time } from './time.tsx';

/** A queue's last error with its age, less prominent once nothing waits after a failure; a dash where there is none. */
export function LastError({ queue }: { queue: Omit<Queue, 'history'> }) {
  const { last_error, last_error_at } = queue;
  if (!last_error) return <span className="none">–</span>;
  return (
    <span className={hasFailed(queue) ? undefined : 'past'}>
      <span className="error-text">{last_error}</span> {last_error_at && <Time at={last_error_at} />}
    </span>
  );
}
