import type { Deal, Pipeline } from '@customer-platform/contracts/crm';
import type { Platform, RawAnswer, TestAccount } from '@customer-platform/testkit';

/** An account with the pipeline that every one begins with, and short ways to its deals. */
export interface Sales {
  account: TestAccount;
  pipeline: Pipeline;
  /** The ids of its stages, in their order: New, Qualified, Proposal. */
  stages: number[];
  /** Adds a deal. Throws a PlatformError where it is refused. */
  deal(more?: Record<string, unknown>): Promise<Deal>;
  /** The deal as it is now. */
  get(id: string): Promise<Deal>;
  /** Asks for a change of a deal's stage or status, and answers whatever comes. */
  change(id: string, action: string, body?: unknown): Promise<RawAnswer>;
  /** Changes what a deal says, and answers whatever comes. */
  patch(id: string, body: unknown): Promise<RawAnswer>;
}

export async function openSales(platform: Platform, settings: Record<string, unknown> = {}): Promise<Sales> {
  const account = await platform.account(settings);
  const { data } = await account.client.listPipelines();
  const pipeline = data[0]!;
  return {
    account,
    pipeline,
    stages: pipeline.stages.map(({ id }) => id),
    deal: (more = {}) => account.client.createDeal({ body: { title: 'A deal', ...more } }),
    get: (id) => account.client.getDeal({ params: { deal_id: id } }),
    change: (id, action, body = {}) => account.request('POST', `/v1/crm/deals/${id}/${action}`, { body }),
    patch: (id, body) => account.request('PATCH', `/v1/crm/deals/${id}`, { body }),
  };
}

/** What an answer is that refuses one input. */
export const invalid = (field: string) => ({ status: 400, body: { error: { code: 'invalid_request', field } } });

/** How many events of a kind an account has sent, once one of the kind `last` has come, which it sends after them. */
export async function eventsUntil(platform: Platform, accountId: string, kind: string, last: string): Promise<number> {
  await platform.event(accountId, last);
  return platform.events(accountId).filter(({ type }) => type === kind).length;
}
