import type { OperatedEndpoint } from '@customer-platform/contracts/accounts';
import type { AnyEndpoint } from '@customer-platform/contracts/webhooks';
import { timestampOrNull } from '../queues/queue-shape.ts';

/** Returns an endpoint as the control plane shows it. */
export function toOperatedEndpoint(endpoint: AnyEndpoint): OperatedEndpoint {
  const { id, account, url, active, paused, disabled_reason, pending, last_error } = endpoint;
  return {
    ...{ id, account, url, active, paused, disabled_reason, pending, last_error },
    failing_since: timestampOrNull(endpoint.failing_since),
    last_error_at: timestampOrNull(endpoint.last_error_at),
    last_error_trace_id: endpoint.last_error_trace_id ?? null,
  };
}
