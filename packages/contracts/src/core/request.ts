import { z } from 'zod';
import type { ServiceName } from './modules.ts';

/** A request from one service to another over the bus: the service that replies, the input and the reply. */
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

/** The internal requests among a contract's exports, each under its key. */
export type RequestsIn<Contract> = {
  [Name in keyof Contract as Contract[Name] extends { readonly key: string; readonly input: z.ZodType }
    ? Name
    : never]: Contract[Name] & { readonly key: Name };
};

/** Declares one internal request. Callers wait at most 500 ms; fields of `reply` are nullable if the resource may not exist. */
export function internalRequest<const Key extends string, Input extends z.ZodType, Reply extends z.ZodType>(
  key: Key,
  service: ServiceName,
  input: Input,
  reply: Reply,
): InternalRequest<Key, Input, Reply> {
  return Object.freeze({ key, service, input, reply });
}

/** Why a change that operators ask for is refused, as its customer would be: part of its reply, null where it was made. */
export const changeRefusal = z
  .object({ code: z.enum(['invalid_request', 'invalid_state']), message: z.string(), field: z.string().nullable() })
  .nullable();
