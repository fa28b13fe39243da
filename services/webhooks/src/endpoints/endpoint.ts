import type { AccountContext } from '@customer-platform/contracts/core';
import { ApiError } from '@customer-platform/contracts/core';
import type { Endpoint } from '@customer-platform/contracts/webhooks';
import { formatInstant, type OutsideWork } from '@customer-platform/service-kit';
import { checkTargetUrl, judgeUrlText } from '../delivery/guarded-connector.ts';
import type { WebhookResources } from '../resources.ts';
import type { EndpointRow } from './endpoints.sql.ts';

/** An endpoint as the API shows it. */
export function toEndpoint(row: EndpointRow, account: Pick<AccountContext, 'timezone'>): Endpoint {
  const { id, url, description, events, active, disabled_reason } = row;
  const created_at = formatInstant(row.created_at, account.timezone);
  const updated_at = formatInstant(row.updated_at, account.timezone);
  return { id, url, description, events, active, disabled_reason, created_at, updated_at };
}

type UrlCall = {
  resources: WebhookResources;
  fail(code: 'invalid_request', message: string, field: string): never;
  outsideOnce(work: (outside: OutsideWork) => Promise<void>): void;
};

/**
 * Refuses a URL that must not be a target. What its text says is decided at once; a name is looked up without the
 * transaction. Throws invalid_request, field url.
 */
export function refusePrivateTarget(url: string, { resources, fail, outsideOnce }: UrlCall): void {
  const judgement = judgeUrlText(url, resources.guard);
  if ('refusal' in judgement) {
    if (judgement.refusal !== null) fail('invalid_request', judgement.refusal, 'url');
    return;
  }
  outsideOnce(async () => {
    const reason = await checkTargetUrl(url, resources.guard);
    if (reason !== null) throw new ApiError('invalid_request', reason, { field: 'url' });
  });
}
