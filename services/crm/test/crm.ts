import type { Deal, Pipeline } from '@customer-platform/contracts/crm';
import type { Platform, RawResponse, TestAccount } from '@customer-platform/testkit';

/** An account with its default pipeline, and helpers for its deals. */
export interface Sales {
  account: TestAccount;
  pipeline: Pipeline;
  /** Stage ids in order: New, Qualified, Proposal. */
  stages: number[];
  /** Creates a deal. Throws PlatformError if it is refused. */
  deal(more?: Record<string, unknown>): Promise<Deal>;
  /** Returns the deal's current state. */
  get(id: string): Promise<Deal>;
  /** Requests a change of a deal's stage or status. Returns the response, even if it is an error. */
  change(id: string, action: string, body?: unknown): Promise<RawResponse>;
  /** Updates a deal's fields. Returns the response, even if it is an error. */
  patch(id: string, body: unknown): Promise<RawResponse>;
}

export async function openSales(platform: Platform, settings: Record<string, unknown> = {}): Promise<Sales> {
  const account = await platform.account(settings);
  const { data } = await account.client.crm.pipelines.list();
  const pipeline = data[0]!;
  return {
    account,
    pipeline,
    stages: pipeline.stages.map(({ id }) => id),
    deal: (more = {}) => account.client.crm.deals.create({ body: { title: 'A deal', ...more } }),
    get: (id) => account.client.crm.deals.get({ params: { deal_id: id } }),
    change: (id, action, body = {}) => account.request('POST', `/v1/crm/deals/${id}/${action}`, { body }),
    patch: (id, body) => account.request('PATCH', `/v1/crm/deals/${id}`, { body }),
  };
}

/** Returns the response expected for an invalid field. */
export const invalid = (field: string) => ({ status: 400, body: { error: { code: 'invalid_request', field } } });

/** Waits for an event of the kind `last`, emitted after the others. Then returns the number of the account's events of `kind`. */
export async function eventsUntil(platform: Platform, accountId: string, kind: string, last: string): Promise<number> {
  await platform.event(accountId, last);
  return platform.events(accountId).filter(({ type }) => type === kind).length;
}
