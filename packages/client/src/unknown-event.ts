/**
 * An event kind that is newer than this client; at run time a string such as `order.returned`. As an enum member it equals no string
 * literal, so a comparison with a known kind narrows to that kind's event only.
 */
declare enum NewerKind {
  Newer = 'a kind that is newer than this client',
}

export type { NewerKind };

/** An event of a kind that is newer than this client. */
export interface UnknownEvent {
  id: string;
  type: NewerKind;
  /** An ISO 8601 date-time with offset. */
  timestamp: string;
  /** The account's id. */
  account: string;
  mode: 'live' | 'test';
  data: Record<string, unknown>;
}
