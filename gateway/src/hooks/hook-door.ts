import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { meter, serviceUnavailable } from '@customer-platform/service-kit';
import { type BodyIntake, hasBody } from '../bodies/body-intake.ts';
import { defaultBodyLimit, limitBody } from '../bodies/body-limit.ts';
import { networkOf } from '../client-address.ts';
import type { Upstream } from '../upstream.ts';
import { HookTokens } from './hook-tokens.ts';
import { LocalRate } from './local-rate.ts';

const refused = meter.createCounter('gateway.hooks.refused', {
  description: 'Calls of hooks that the gateway refused, by reason.',
});

/** What one client address (IPv6: its /64) may do with hooks, and one hook with refusals. */
export interface HookBounds {
  /** Requests under way. */
  underWay: number;
  /** Requests a second; twice as many at once. */
  perSecond: number;
  /** Calls a second with tokens that do not exist; ten times as many at once. */
  unknownPerSecond: number;
  /** Calls a second of one hook that the service refuses; ten times as many at once. */
  refusedPerSecond: number;
}

/** A call of a hook as it came. */
export interface HookRequest {
  request: IncomingMessage;
  response: ServerResponse;
  /** The path in the form in which it is forwarded, without its query. */
  path: string;
  address: string;
  requestId: string;
  continues: boolean;
}

/**
 * The door of those who call without a key. They are known by their address alone, so each has bounds of its own; what nobody vouches
 * for (an unknown token, a refused signature) is bounded harder than what the service accepts. A hook's refusals count per address
 * and hook: whoever misuses or misconfigures one closes it to that address alone.
 */
export class HookDoor {
  readonly #upstream: Upstream;
  readonly #bodies: BodyIntake;
  readonly #bounds: HookBounds;
  readonly #tokens: HookTokens;
  readonly #requests: LocalRate;
  readonly #unknown: LocalRate;
  readonly #refused: LocalRate;
  readonly #underWay = new Map<string, number>();

  constructor(upstream: Upstream, bodies: BodyIntake, bounds: HookBounds) {
    this.#upstream = upstream;
    this.#bodies = bodies;
    this.#bounds = bounds;
    this.#tokens = new HookTokens(upstream);
    this.#requests = new LocalRate(bounds.perSecond, bounds.perSecond * 2);
    this.#unknown = new LocalRate(bounds.unknownPerSecond, bounds.unknownPerSecond * 10);
    this.#refused = new LocalRate(bounds.refusedPerSecond, bounds.refusedPerSecond * 10);
  }

  /**
   * Checks a call, takes its body in, and forwards it after `prepare`. Throws 404 for an unknown token before the body is read, and
   * 408, 413, 429 and 503.
   */
  async pass(call: HookRequest, prepare: () => void): Promise<void> {
    const { request, response, path, continues } = call;
    const from = networkOf(call.address);
    this.#enter(from, response);
    await this.#check(call, from);
    limitBody(request, defaultBodyLimit);
    // A hook is one customer's, who may have many addresses; a provider's address is many customers'.
    const terms = { kind: 'hook', owner: path, limit: defaultBodyLimit, continues } as const;
    const isHere = !hasBody(request) || this.#bodies.takeAtOnce(request, response, terms);
    const body = isHere ? undefined : await this.#bodies.take(request, response, terms);
    response.once('finish', () => this.#learn(response.statusCode, path, from));
    prepare();
    this.#upstream.forward(request, response, path, body);
  }

  #enter(from: string, response: ServerResponse): void {
    const underWay = this.#underWay.get(from) ?? 0;
    if (underWay >= this.#bounds.underWay) throw tooMany('under_way', 1_000);
    const waitMs = this.#requests.take(from);
    if (waitMs > 0) throw tooMany('rate', waitMs);
    this.#underWay.set(from, underWay + 1);
    response.once('close', () => {
      const left = this.#underWay.get(from)! - 1;
      if (left > 0) this.#underWay.set(from, left);
      else this.#underWay.delete(from);
    });
  }

  async #check({ path, requestId }: HookRequest, from: string): Promise<void> {
    // Only tokens that never were known are bounded: a provider's address is shared by many accounts' hooks.
    let isKnown = this.#tokens.peek(path);
    if (isKnown === undefined) {
      const waitMs = this.#tokens.wasKnown(path) ? 0 : this.#unknown.waitMs(from);
      if (waitMs > 0) throw tooMany('unknown', waitMs);
      isKnown = await this.#tokens.ask(path, requestId).catch((error: unknown) => {
        throw serviceUnavailable('Hooks cannot be received right now; try again shortly', error);
      });
      if (!isKnown) this.#unknown.charge(from);
    }
    if (!isKnown) {
      refused.add(1, { reason: 'not_found' });
      throw new ApiError('not_found', 'No hook exists at this URL');
    }
    const waitMs = this.#refused.waitMs(`${from} ${path}`);
    if (waitMs > 0) throw tooMany('refused', waitMs);
  }

  /** The service's answer says what the call was worth. */
  #learn(status: number, path: string, from: string): void {
    if (status === 404) this.#tokens.forget(path);
    if (status >= 400 && status < 500 && status !== 429) this.#refused.charge(`${from} ${path}`);
  }
}

function tooMany(reason: string, waitMs: number): ApiError {
  refused.add(1, { reason });
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  const message = `Too many hook requests from this address; try again in ${seconds} s`;
  return new ApiError('rate_limited', message, { headers: { 'Retry-After': String(seconds) } });
}
