import type { OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { enableAction } from './endpoint-actions.tsx';
import { pauseAction, resumeAction, retryAction } from './queue-actions.ts';
import { deliveries } from './queues.ts';
import { ActionButton } from './ui/action.tsx';
import { EndpointLink } from './ui/links.tsx';
import { useResource } from './ui/lists.tsx';
import type { Column } from './ui/table.tsx';
import { Elapsed } from './ui/time.tsx';
import { Tag } from './ui/word.tsx';

type Shown = Pick<OperatedEndpoint, 'id' | 'url' | 'active' | 'paused' | 'disabled_reason' | 'failing_since'>;

/** The columns that all lists of endpoints share. */
export const endpointColumns = {
  url: {
    id: 'endpoint',
    header: 'Endpoint',
    kind: 'wide',
    cell: ({ id, url }) => (
      <EndpointLink id={id}>
        <span className="url">{url}</span>
      </EndpointLink>
    ),
  },
  state: { id: 'state', header: 'State', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
  failing: {
    id: 'failing',
    header: 'Failing for',
    word: 'failing',
    cell: ({ active, failing_since }) => <Elapsed since={active ? failing_since : null} />,
  },
} satisfies Record<string, Column<Shown>>;

/** Shows an endpoint's state as tags. */
export function EndpointState(props: {
  endpoint: Pick<OperatedEndpoint, 'active' | 'paused' | 'disabled_reason' | 'failing_since'>;
}) {
  const { active, paused, disabled_reason, failing_since } = props.endpoint;
  return (
    <>
      {!active && (
        <span className="tag bad" title={disabled_reason ?? undefined}>
          disabled
        </span>
      )}{' '}
      {active && failing_since && (
        <Tag kind="bad" word="failing">
          failing
        </Tag>
      )}{' '}
      {paused && <Tag kind="warn">paused</Tag>} {active && !failing_since && !paused && <Tag kind="good">active</Tag>}
    </>
  );
}

/** Returns the deliveries queue by endpoint: its pauses, and the shares of the 100 endpoints with the most entries. */
export function useDeliveries() {
  const input = { params: deliveries, query: { by: 'endpoint' as const } };
  return useResource('GET /admin/queues/{service}/{queue}', input).data;
}

/**
 * Buttons for an endpoint. Its pause and its number of ready deliveries come from the deliveries queue.
 */
export function EndpointActions(props: {
  endpoint: Pick<OperatedEndpoint, 'id' | 'account' | 'url' | 'active' | 'pending'>;
}) {
  const data = useDeliveries();
  const { id, account, url, active, pending } = props.endpoint;
  const target = { ...deliveries, account, endpoint: id, of: `deliveries to ${url}` };
  const part = data?.top.find((each) => each.endpoint === id);
  const pause = data?.pauses.find((each) => each.endpoint === id);
  const depth = part ?? { ready: 0, running: 0, waiting: pending, failed_waiting: null };
  if (!active) {
    return (
      <ActionButton label={`Enable ${url}`} make={() => enableAction(props.endpoint)}>
        Enable
      </ActionButton>
    );
  }
  return (
    <>
      {pause ? (
        <ActionButton
          label={`Resume ${target.of}`}
          make={() => resumeAction({ ...target, account: pause.account }, pause, depth)}
        >
          Resume
        </ActionButton>
      ) : (
        <ActionButton label={`Pause ${target.of}`} make={() => pauseAction(target, depth)}>
          Pause
        </ActionButton>
      )}
      <ActionButton label={`Retry ${target.of}`} make={() => retryAction(target, depth)}>
        Retry
      </ActionButton>
    </>
  );
}
