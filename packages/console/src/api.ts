import type { adminOperations } from '@customer-platform/contracts/accounts';
import type { BodyInput, ErrorEnvelope, ParamsInput, QueryInput, ResponseOf } from '@customer-platform/contracts/core';
import { endSession, sessionToken } from './session.ts';

// Import only types from the contract, since its schemas would be most of the bundle.
type Operations = typeof adminOperations;
type Named = { [Key in keyof Operations]: Operations[Key] };

/** Method and path of every operation of the control plane, such as `GET /admin/queues`. */
export type Route = { [Key in keyof Named]: `${Named[Key]['method']} ${Named[Key]['path']}` }[keyof Named];

/** The operation at a route. */
type At<R extends Route> = {
  [Key in keyof Named]: R extends `${Named[Key]['method']} ${Named[Key]['path']}` ? Named[Key] : never;
}[keyof Named];

/** Path parameters, query and body of a call, typed by the contract. */
export interface Input<R extends Route> {
  params?: ParamsInput<At<R>>;
  query?: QueryInput<At<R>>;
  body?: BodyInput<At<R>>;
  signal?: AbortSignal;
}

/** The parsed response of a route; undefined for 204. */
export type Output<R extends Route> = ResponseOf<At<R>>;

/** An error of the control plane, with the message of its envelope. `status` is 0 if there was no response. */
export class Refusal extends Error {
  readonly status: number;
  readonly field: string | undefined;

  constructor(status: number, message: string, field?: string) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.field = field;
  }
}

/** Deadline of a call in milliseconds. */
const timeoutMs = 15_000;

/**
 * Calls an operation with the session's token. Throws Refusal for an error response or no response. A 401 ends the
 * session and shows the sign-in form.
 */
export async function call<R extends Route>(route: R, input: Input<R> = {}): Promise<Output<R>> {
  const [method, template] = route.split(' ') as [string, string];
  const token = sessionToken();
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
  if (input.body !== undefined) headers['Content-Type'] = 'application/json';
  const deadline = AbortSignal.timeout(timeoutMs);
  const response = await fetch(urlOf(template, input.params, input.query), {
    method,
    headers,
    cache: 'no-store',
    signal: input.signal ? AbortSignal.any([input.signal, deadline]) : deadline,
    ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
  }).catch((error: unknown) => {
    if (input.signal?.aborted) throw error;
    throw new Refusal(0, 'The control plane did not respond.');
  });
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as Output<R>;
  const refusal = await refusalOf(response);
  if (response.status === 401) endSession(refusal.message, token);
  throw refusal;
}

function urlOf(template: string, params: unknown = {}, query: unknown = {}): string {
  const given = new Map<string, unknown>(Object.entries(params as object));
  const path = template.replaceAll(/\{([a-z_]+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(given.get(name))),
  );
  const fields = Object.entries(query as object).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(fields.map(([name, value]) => [name, String(value)]));
  return search.size > 0 ? `${path}?${search}` : path;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const envelope = (await response.json().catch(() => undefined)) as ErrorEnvelope | undefined;
  const message = envelope?.error?.message ?? `The control plane responded with status ${response.status}.`;
  return new Refusal(response.status, message, envelope?.error?.field);
}
