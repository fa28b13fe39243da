import * as contract from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import { findStages } from '@customer-platform/contracts/crm';
import { parseUrl, refusePrivateTarget } from '@customer-platform/outbound';
import { applyPatch, mergedByKey, type PrefetchCall } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { sealedApiKey } from './api-key.ts';
import { noPipelines, refuseWithoutPipelines } from './pipelines.ts';
import { lockSettings, type SettingsRow, updateSettingsRow } from './settings.sql.ts';
import { toSettings } from './settings.ts';

/** Maximum number of pipelines with a budget, and of models with a price. */
const maxEntries = 1_000;

/**
 * Updates the settings. A key belongs to the origin for which it was set. If base_url changes to another origin or becomes empty, the
 * stored key is dropped, unless the request has a new key. So changing the settings cannot redirect the key to another server.
 */
export const updateAgentSettings = implement(contract.updateAgentSettings, {
  async handle({ account, tx, body, resources, prefetch }) {
    const { secretKeys, guard } = resources;
    const before = await lockSettings(tx, account.id);
    const { base_url, api_key, pipeline_budgets, prices, ...others } = body;
    const after: SettingsRow = {
      ...applyPatch(before, others),
      base_url: base_url === undefined ? before.base_url : asBaseUrl(base_url),
      pipeline_budgets: merged('pipeline_budgets', before.pipeline_budgets, pipeline_budgets),
      prices: merged('prices', before.prices, prices),
    };
    const checks: ((call: PrefetchCall) => Promise<void>)[] = [];
    if (after.base_url !== before.base_url && after.base_url !== '') {
      refusePrivateTarget(after.base_url, 'base_url', { guard, prefetch: (work) => checks.push(work) });
    }
    const named = Object.keys(after.pipeline_budgets).filter((id) => !Object.hasOwn(before.pipeline_budgets, id));
    if (named.length > 0) {
      refuseWithoutPipelines(account, 'pipeline_budgets');
      checks.push(({ ask }) => refuseUnknownPipelines(ask, named.map(Number)));
    }
    if (checks.length > 0)
      prefetch(async (prefetchCall) => void (await Promise.all(checks.map((check) => check(prefetchCall)))));
    if (api_key !== undefined) after.api_key = sealedApiKey(secretKeys, account.id, api_key);
    else if (before.base_url !== '' && originOf(after.base_url) !== originOf(before.base_url)) after.api_key = null;
    await updateSettingsRow(tx, after);
    return toSettings(after);
  },
});

/** Returns the URL without trailing slashes. Throws invalid_request, field base_url, if it is not a URL or has a query or fragment. */
function asBaseUrl(given: string): string {
  if (given !== '' && !parseUrl(given)) {
    const message = 'base_url must be an absolute URL, such as https://api.openai.com/v1';
    throw new ApiError('invalid_request', message, { field: 'base_url' });
  }
  if (/[?#]/.test(given)) {
    const message = 'base_url must not have a query or fragment, such as https://api.openai.com/v1';
    throw new ApiError('invalid_request', message, { field: 'base_url' });
  }
  let end = given.length;
  while (given[end - 1] === '/') end -= 1;
  return given.slice(0, end);
}

function originOf(url: string): string {
  return url === '' ? '' : new URL(url).origin;
}

/** Merges by key. Throws invalid_request, field `field`, if the result has too many entries. */
function merged<Value>(
  field: string,
  before: Readonly<Record<string, Value>>,
  changes: Readonly<Record<string, Value | null>> | null | undefined,
): Record<string, Value> {
  const after = mergedByKey(before, changes);
  if (Object.keys(after).length <= maxEntries) return after;
  throw new ApiError('invalid_request', `${field} must have at most ${maxEntries} entries`, { field });
}

async function refuseUnknownPipelines(ask: PrefetchCall['ask'], ids: number[]): Promise<void> {
  const { pipelines } = await ask(findStages, { pipelines: ids, stages: [], namesOnly: true });
  const missing = ids.filter((id) => !pipelines.some((pipeline) => pipeline.id === id));
  if (missing.length > 0) throw noPipelines('pipeline_budgets', missing);
}
