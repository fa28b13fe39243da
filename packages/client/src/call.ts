/** Options of every call. */
export interface CallOptions {
  /** Key under which a write happens once, however many times it is sent: 1 to 255 printable ASCII characters. Default: a new UUID. */
  idempotencyKey?: string | undefined;
  /** Ends the call, its retries and the waits between them: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A call of the API. Await it for its result; it rejects with a RequestError. */
export interface ApiCall<Result> extends Promise<Result> {
  /** Resolves with the result and the response that it came in: `const { data, response } = await client.me.get().withResponse()`. */
  withResponse(): Promise<{ data: Result; response: ResponseInfo }>;
}

/**
 * A call for a list. Await it for the first page, or iterate over it for the entries of that page and all that follow:
 * `for await (const contact of client.cdp.contacts.list()) …`.
 */
export interface ListCall<Item, Whole = Page<Item>> extends ApiCall<Whole>, AsyncIterable<Item> {}

/** A page of a list. `next` is the `starting_after` of the following page, null on the last. */
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
  /** The response is the one of an earlier request with the same Idempotency-Key: nothing was changed again. */
  isReplayed: boolean;
}

/** A result with its response. */
export interface Outcome {
  data: unknown;
  response: ResponseInfo;
}

/** Returns a call whose outcome is on its way. */
export function apiCall(outcome: Promise<Outcome>): ApiCall<unknown> {
  const result = outcome.then(({ data }) => data);
  const withResponse = () => {
    // Whoever asks for both hears of a failure once.
    result.catch(() => undefined);
    return outcome.then((each) => each);
  };
  return Object.assign(result, { withResponse });
}
