import { z } from 'zod';
import type { ServiceName } from './modules.ts';

/** A request from one service to another over the bus: the replying service, the input and the reply. */
export interface InternalRequest<
  Key extends string = string,
  Input extends z.ZodType = z.ZodType,
  Reply extends z.ZodType = z.ZodType,
> {
  readonly key: Key;
  readonly service: ServiceName;
  readonly input: Input;
  readonly reply: Reply;
}

/** The internal requests among a contract's exports, by key. */
export type RequestsIn<Contract> = {
  [Name in keyof Contract as Contract[Name] extends { readonly key: string; readonly input: z.ZodType }
    ? Name
    : never]: Contract[Name] & { readonly key: Name };
};

/** Declares an internal request. Callers wait 500 ms by default. A field of `reply` is nullable if the resource may not exist. */
export function internalRequest<const Key extends string, Input extends z.ZodType, Reply extends z.ZodType>(
  key: Key,
  service: ServiceName,
  input: Input,
  reply: Reply,
): InternalRequest<Key, Input, Reply> {
  return Object.freeze({ key, service, input, reply });
}

/** Error of an operator's change, the same that a customer would get; null if the change was made. Part of the reply. */
export const changeError = z
  .object({ code: z.enum(['invalid_request', 'invalid_state']), message: z.string(), field: z.string().nullable() })
  .nullable();
