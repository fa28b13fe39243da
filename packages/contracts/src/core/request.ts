import { z } from 'zod';
import type { ServiceName } from './modules.ts';

/** A question that one service answers to others over the bus: its owner, what is asked and what is answered. */
export interface InternalRequest<
  Key extends string = string,
  Input extends z.ZodType = z.ZodType,
  Answer extends z.ZodType = z.ZodType,
> {
  readonly key: Key;
  readonly service: ServiceName;
  readonly input: Input;
  readonly answer: Answer;
}

/** The internal requests among a contract's exports, each under its key. */
export type RequestsIn<Contract> = {
  [Name in keyof Contract as Contract[Name] extends { readonly key: string; readonly input: z.ZodType }
    ? Name
    : never]: Contract[Name] & { readonly key: Name };
};

/** Declares one internal request. Askers wait 500 ms at most; `answer` is nullable where the thing may not exist. */
export function internalRequest<const Key extends string, Input extends z.ZodType, Answer extends z.ZodType>(
  key: Key,
  service: ServiceName,
  input: Input,
  answer: Answer,
): InternalRequest<Key, Input, Answer> {
  return Object.freeze({ key, service, input, answer });
}

/** Asks one service to send to the bus again what it published since an instant; it says how many events that is, and does it bit by bit. */
export function republishEvents<Service extends ServiceName>(service: Service) {
  return internalRequest(
    'republishEvents',
    service,
    z.object({ since: z.iso.datetime() }),
    z.object({ matched: z.int().min(0) }),
  );
}
