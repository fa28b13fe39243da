import { ApiError } from '@customer-platform/contracts/core';
import type { PrefetchCall } from '@customer-platform/service-kit';
import { checkTargetUrl, judgeUrlText, type TargetGuard } from './guarded-connector.ts';

type UrlCall = { guard: TargetGuard; prefetch(work: (call: PrefetchCall) => Promise<void>): void };

/**
 * Refuses a URL that must not be a target. The text is checked at once; a name is looked up outside the transaction.
 * `path` is the URL's path in the body, such as `settings.url`. Throws invalid_request; its field is the path's first name.
 */
export function refusePrivateTarget(url: string, path: string, { guard, prefetch }: UrlCall): void {
  const refuse = (refusal: string | null) => {
    if (refusal === null) return;
    throw new ApiError('invalid_request', refusal.replace(/^url/, path), { field: path.split('.')[0] });
  };
  const judgement = judgeUrlText(url, guard);
  if ('refusal' in judgement) refuse(judgement.refusal);
  else prefetch(async () => refuse(await checkTargetUrl(url, guard)));
}
