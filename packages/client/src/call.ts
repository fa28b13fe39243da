/** Options of every call. */
export interface CallOptions {
  /** Key under which a write happens once, however many times it is sent: 1 to 255 printable ASCII characters. Default: a new UUID. */
  idempotencyKey?: string | undefined;
  /** Ends the call, its retries and the waits between them: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A page of a list. `next` is the `starting_after` of the following page, null on the last. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next: string | null;
}
