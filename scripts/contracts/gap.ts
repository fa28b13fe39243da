import type { Schema } from './json-schema.ts';

/** A way in which a value that one schema allows, which is sent, is no value of another, which is taken. */
export interface Gap {
  /** Steps from the schema's root to the value: `.name` of a field, `[]` for entries, `.*` for any key. */
  place: string;
  /**
   * `missing`: a required field that may not be there. `unknown`: a field that is refused. `value`: a value of an enum. `variant`: a
   * shape of a union. `type`: another type. `bound`: a number, length or count. `text`: how a text is written. `opaque`: cannot be compared.
   */
  kind: 'missing' | 'unknown' | 'value' | 'variant' | 'type' | 'bound' | 'text' | 'opaque';
  /** Phrases for what may be sent and what is taken; `sent` is `nothing` for a field that the sender does not have. */
  sent: string;
  taken: string;
}

/**
 * Whether a receiver takes keys that its schema does not name: `ignored` always, `refused` never, `declared` unless
 * `additionalProperties` says otherwise.
 */
export type UnknownKeys = 'ignored' | 'refused' | 'declared';

/** Compares a value of the sender's schema with one of the receiver's, both at `place`. */
export interface Comparison {
  unknownKeys: UnknownKeys;
  gapsAt(inner: Schema, outer: Schema, place: string): Gap[];
}
