import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { limitReached, meter, serviceUnavailable } from '@customer-platform/service-kit';
import { type BodyIntake, defaultBodyLimit, hasBody, limitBody } from '../bodies/body-intake.ts';
import type { Upstream } from '../forward/forward.ts';
import { networkOf } from '../http/request-head.ts';
import { LocalRate } from '../limits/local-rate.ts';
import { rateLimited } from '../limits/rate-limiter.ts';
import { type RequestPlace, RequestShares } from '../limits/request-shares.ts';
import type { GatewayConfig } from '../settings.ts';
import { HookTokens, type KnownHook } from './hook-tokens.ts';

const refused = meter.createCounter('gateway.hooks.refused', {
  description: 'Calls of hooks that the gateway refused, by reason.',
});

/** A request to an inbound webhook. */
interface HookRequest {
  request: IncomingMessage;
  response: ServerResponse;
  place: RequestPlace;
  /** The path as forwarded, without its query. */
  path: string;
  address: string;
  requestId: string;
  continues: boolean;
}

/**
 * Admits requests to inbound webhooks, which have no key. A caller is known only by its address, so limits apply per
 * address. The accounts that an address calls share its limits, because a provider's address serves many accounts, and
 * each can make it call. Unverified requests (unknown token, refused signature) have lower limits than accepted ones.
 * Refusals count per address and webhook, so a misused or misconfigured webhook is blocked only for that address.
 */
export class InboundWebhooks {
  readonly #upstream: Upstream;
  readonly #bodies: BodyIntake;
  readonly #config: GatewayConfig;
  readonly #tokens: HookTokens;
  readonly #requests: LocalRate;
  readonly #unknown: LocalRate;
  readonly #refused: LocalRate;
  /** Requests in flight by address. One account, or all requests whose token is not checked yet, get at most half of them. */
  readonly #places = new Map<string, RequestShares>();

  /** @param upstream the service of the webhooks */
  constructor(upstream: Upstream, bodies: BodyIntake, config: GatewayConfig) {
    this.#upstream = upstream;
    this.#bodies = bodies;
    this.#config = config;
    this.#tokens = new HookTokens(upstream);
    const { HOOK_RATE_PER_ADDRESS: requests, HOOK_REFUSALS_PER_SECOND: refusals } = config;
    this.#requests = new LocalRate(requests, requests * 2);
    this.#unknown = new LocalRate(refusals, refusals * 10);
    this.#refused = new LocalRate(refusals, refusals * 10);
  }

  /**
   * Checks a request, buffers its body, and forwards it after `prepare`. Throws 404 for an unknown token before it
   * reads the body. Throws 408, 413, 429 and 503.
   */
  async pass(call: HookRequest, prepare: () => void): Promise<void> {
    const { request, response, place, path, continues } = call;
    const from = networkOf(call.address);
    const placeOfAddress = this.#enter(from, response);
    const { owner } = await this.#check(call, from);
    placeOfAddress.moveTo(owner);
    // Requests to an account's webhooks do not use the share of the account's own requests.
    place.moveTo(`hooks of ${owner}`);
    limitBody(request, defaultBodyLimit);
    // The owner is the account. A customer may use many addresses and webhooks, and a provider's address serves many customers.
    const terms = { kind: 'hook', owner, limit: defaultBodyLimit, continues } as const;
    const body = hasBody(request) ? await this.#bodies.take(request, response, terms) : undefined;
    response.once('finish', () => this.#learn(response.statusCode, path, from));
    prepare();
    this.#upstream.forward(request, response, owner, body);
  }

  /** Counts a request of an address until its response closes. Returns its place, which has no owner yet. */
  #enter(from: string, response: ServerResponse): RequestPlace {
    const most = 2 * this.#config.HOOK_REQUESTS_PER_ADDRESS;
    const places = this.#places.get(from) ?? new RequestShares(most, () => tooMany('under_way', 1_000));
    const place = places.take('unknown', response);
    this.#places.set(from, places);
    response.once('close', () => {
      if (places.isUnused) this.#places.delete(from);
    });
    const waitMs = this.#requests.take(from);
    if (waitMs > 0) throw tooMany('rate', waitMs);
    return place;
  }

  /** Returns the webhook token's entry. */
  async #check({ path, requestId }: HookRequest, from: string): Promise<KnownHook> {
    // Only tokens that were never known are limited, because a provider's address serves the webhooks of many accounts.
    let hook = this.#tokens.peek(path);
    if (hook === undefined) {
      const waitMs = this.#tokens.wasKnown(path) ? 0 : this.#unknown.waitMs(from);
      if (waitMs > 0) throw tooMany('unknown', waitMs);
      hook = await this.#tokens.ask(path, requestId).catch((error: unknown) => {
        throw serviceUnavailable('Hooks cannot be received right now; try again shortly', error);
      });
      if (!hook) this.#unknown.charge(from);
    }
    if (!hook) {
      refused.add(1, { reason: 'not_found' });
      // The service responds with a page to a truncated unsubscribe link.
      if (path.startsWith('/u/')) return { owner: 'unknown' };
      throw new ApiError('not_found', 'No hook exists at this URL');
    }
    const waitMs = this.#refused.waitMs(`${from} ${path}`);
    if (waitMs > 0) throw tooMany('refused', waitMs);
    return hook;
  }

  /** Updates tokens and refusals from the status of the service's response. */
  #learn(status: number, path: string, from: string): void {
    if (status === 404) this.#tokens.forget(path);
    if (status >= 400 && status < 500 && status !== 429) this.#refused.charge(`${from} ${path}`);
  }
}

function tooMany(reason: string, waitMs: number): ApiError {
  refused.add(1, { reason });
  limitReached('hooks');
  return rateLimited(waitMs, (seconds) => `Too many hook requests from this address; try again in ${seconds} s`);
}
