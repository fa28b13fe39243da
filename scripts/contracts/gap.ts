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
 * Who takes the value. An `operation` refuses keys that it does not know. A `service` validates what comes over the bus: it refuses unknown
 * keys only where `additionalProperties` says so, and a field with a default is never missing. A `client` ignores unknown keys, and knows no
 * defaults.
 */
export type Receiver = 'operation' | 'service' | 'client';

/** Compares a value of the sender's schema with one of the receiver's, both at `place`. */
export interface Comparison {
  receiver: Receiver;
  gapsAt(inner: Schema, outer: Schema, place: string): Gap[];
}
