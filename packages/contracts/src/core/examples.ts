import type { z } from 'zod';
import type { EventData, EventDefinition } from './event.ts';
import type { BodyInput, EventsIn, OperationSpec, OperationsIn, ResponseOf } from './operation.ts';
import type { Page } from './page.ts';

/** A body as an example has it: a file is given as its text. */
type Written<Body> = { [Name in keyof Body]: Body[Name] extends File ? string : Body[Name] };

type BodyExample<O extends OperationSpec> = O['body'] extends z.ZodType
  ? Record<never, never> extends BodyInput<O>
    ? { readonly body?: BodyInput<O> }
    : { readonly body: Written<BodyInput<O>> }
  : unknown;
type ResponseExample<O extends OperationSpec> = O['response'] extends z.ZodType
  ? { readonly response: ResponseOf<O> }
  : unknown;

/** Examples of a contract's operations by key. An operation with a body or a response must have one to compile. */
export type ExamplesOf<Contract, Operations = OperationsIn<Contract>> = {
  readonly [Key in keyof Operations as Operations[Key] extends OperationSpec
    ? unknown extends BodyExample<Operations[Key]> & ResponseExample<Operations[Key]>
      ? never
      : Key
    : never]: Operations[Key] extends OperationSpec
    ? BodyExample<Operations[Key]> & ResponseExample<Operations[Key]>
    : never;
};

/** Examples of the data of a contract's public events, by export name. */
export type EventExamplesOf<Contract, Events = EventsIn<Contract>> = {
  readonly [Name in keyof Events as Events[Name] extends { audience: 'public' }
    ? Name
    : never]: Events[Name] extends EventDefinition ? EventData<Events[Name]> : never;
};

/** Returns these entries as the only page of a list. */
export function onePage<Item>(...data: Item[]): Page<Item> {
  return { data, has_more: false, next: null };
}
