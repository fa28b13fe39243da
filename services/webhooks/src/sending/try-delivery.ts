import { type Poster, type PostResult, signatureHeader } from '@customer-platform/outbound';
import { type Clocks, inSpan, markFailed, setHttpStatus, telemetryEnabled } from '@customer-platform/service-kit';
import type { HeldEndpoint } from './held-endpoint.ts';
import { type DueDelivery, outcomeOf, type TryOutcome } from './outcome.ts';
import type { RetrySchedule } from './retry-schedule.ts';

/** Resources of the process that every attempt needs. */
export type TryContext = { poster: Poster; clocks: Pick<Clocks, 'nowOf' | 'real'>; schedule: RetrySchedule };

/** Makes one attempt: signs the envelope's exact text with the current time, sends it and returns the outcome. Never rejects. */
export async function tryDelivery(
  delivery: DueDelivery,
  endpoint: HeldEndpoint,
  context: TryContext,
): Promise<TryOutcome> {
  const { accountId, endpointId, url } = endpoint;
  const { clocks } = context;
  const at = clocks.nowOf(accountId);
  // Receivers verify signatures by real time.
  const moment = { at, timestamp: Math.floor(clocks.real().getTime() / 1000) };
  const result = telemetryEnabled()
    ? await sendInSpan(delivery, endpoint, context.poster, moment)
    : await send(delivery, endpoint, context.poster, moment);
  return outcomeOf(delivery, result, {
    accountId,
    endpointId,
    url,
    isFormer: endpoint.url !== url,
    endReason: endpoint.endReason,
    failingSince: endpoint.failingSince,
    at,
    endedAt: clocks.nowOf(accountId),
    schedule: context.schedule,
    random: Math.random(),
  });
}

/** Time of an attempt by the account's clock, and its signed timestamp in seconds. */
type Moment = { at: Date; timestamp: number };

function send(delivery: DueDelivery, endpoint: HeldEndpoint, poster: Poster, { at, timestamp }: Moment) {
  const lasting = endpoint.signingKeys.filter(({ until }) => until === null || until > at);
  const keys = lasting.map(({ key }) => key);
  // Encoded once, since it is signed with up to five secrets and then sent.
  const body = Buffer.from(delivery.envelope);
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'customer-platform-webhooks/1.0',
    'webhook-id': delivery.eventId,
    'webhook-sequence': String(delivery.sequence),
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureHeader(delivery.eventId, timestamp, body, keys),
  };
  const { endpointId: poolKey, url } = endpoint;
  return poster.post({ poolKey, url, headers, body, continuesTrace: true });
}

/** Like `send`, within a span of the trace that began with the client's request. The POST carries the trace to the endpoint. */
function sendInSpan(
  delivery: DueDelivery,
  endpoint: HeldEndpoint,
  poster: Poster,
  moment: Moment,
): Promise<PostResult> {
  const attributes = {
    'platform.account': endpoint.accountId,
    'messaging.message.id': delivery.eventId,
    'webhooks.endpoint': endpoint.endpointId,
    'webhooks.delivery': delivery.id,
    'webhooks.try': delivery.step + 1,
  };
  return inSpan('deliver webhook', { attributes, parent: delivery.trace ?? undefined }, async (span) => {
    const result = await send(delivery, endpoint, poster, moment);
    if (result.status !== undefined) setHttpStatus(span, result.status, 300);
    if (span && result.error !== undefined) markFailed(span, result.error);
    return result;
  });
}
