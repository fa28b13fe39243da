/** Options of every call. */
export interface CallOptions {
  /** Idempotency-Key: the platform applies a write once per key. 1 to 255 printable ASCII characters. Default: a new UUID. */
  idempotencyKey?: string | undefined;
  /** Aborts the call, its retries and the waits between them. The call rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** An API call. Await it to get the result. It rejects with a RequestError. */
export interface ApiCall<Result> extends Promise<Result> {
  /** Resolves with the result and its HTTP response: `const { data, response } = await client.me.get().withResponse()`. */
  withResponse(): Promise<{ data: Result; response: ResponseInfo }>;
}

/**
 * A call that returns a list. Await it to get the first page, or iterate over it to get the entries of all pages:
 * `for await (const contact of client.cdp.contacts.list()) …`.
 */
export interface ListCall<Item, Whole = Page<Item>> extends ApiCall<Whole>, AsyncIterable<Item> {}

/** A page of a list. `next` is the `starting_after` of the next page, or null on the last page. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next: string | null;
}

/** A successful response, without its body. */
export interface ResponseInfo {
  /** The HTTP status. */
  status: number;
  headers: Headers;
  /** Id of the request in the platform's logs. */
  requestId: string | undefined;
  /** Whether the platform repeated the response of an earlier request with the same Idempotency-Key, and changed nothing. */
  isReplayed: boolean;
}

/** A result with its response. */
export interface Outcome {
  data: unknown;
  response: ResponseInfo;
}

/** Returns a call that settles as the outcome does. */
export function apiCall(outcome: Promise<Outcome>): ApiCall<unknown> {
  const result = outcome.then(({ data }) => data);
  const withResponse = () => {
    // The caller handles a failure through `outcome`. Without this, `result` would reject unhandled.
    result.catch(() => undefined);
    return outcome.then((each) => each);
  };
  return Object.assign(result, { withResponse });
}
