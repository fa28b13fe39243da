import { expect, it } from '@jest/globals';
import { ContactEventInput } from './cdp/contact-events.ts';
import { envelopeOf } from './core/event.ts';
import type { Operation } from './core/operation.ts';
import { examples, parameterExamples } from './examples.ts';
import { events, operations } from './index.ts';
import { envelopeExample } from './openapi-examples.ts';

const named = (which: (operation: Operation) => unknown) =>
  operations.filter(which).map((operation) => [operation.key, operation] as const);

it.each(named(({ body, bodyType }) => body && !bodyType))('%s has a body that it accepts', (key, { body }) => {
  expect(body!.safeParse(examples[key]?.body ?? {}).error).toBeUndefined();
});

it('an uploaded file is sent with its other fields', () => {
  const { file, ...fields } = examples.uploadFile!.body!;
  const { body } = operations.find(({ key }) => key === 'uploadFile')!;
  expect(body!.safeParse({ ...fields, file: new File([String(file)], 'hours.txt') }).error).toBeUndefined();
});

it('contact events, which are validated one by one, are accepted', () => {
  const { events: sent } = examples.recordEvents!.body as { events: unknown[] };
  expect(sent.map((event) => ContactEventInput.safeParse(event).error)).toEqual(sent.map(() => undefined));
});

it.each(named(({ body }) => body && !body.safeParse({}).success))('%s has a non-empty body', (key) => {
  expect(Object.keys(examples[key]?.body ?? {})).not.toEqual([]);
});

it.each(named(({ response }) => response))('%s has a valid response', (key, { response }) => {
  const parsed = response!.safeParse(examples[key]!.response);
  // Parsing drops unknown fields, so this fails for an example with fields that the schema lacks.
  expect([parsed.error, parsed.data]).toEqual([undefined, examples[key]!.response]);
});

it.each(named(({ params, query }) => params ?? query))('%s has its parameters', (_key, { params, query }) => {
  const given = ({ shape }: NonNullable<Operation['query']>) =>
    Object.fromEntries(
      Object.entries(shape)
        .filter(([, schema]) => !schema.safeParse(undefined).success)
        .map(([name]) => [name, parameterExamples[name]]),
    );
  expect([params?.safeParse(given(params)).error, query?.safeParse(given(query)).error]).toEqual([
    undefined,
    undefined,
  ]);
});

it.each(events.filter(({ audience }) => audience === 'public').map((event) => [event.kind, event] as const))(
  '%s says when it is sent, and has an example in its envelope',
  (kind, { data, sent }) => {
    expect(sent).toMatch(/^[A-Z].*\.$/s);
    const example = envelopeExample(kind);
    const parsed = envelopeOf(kind, data).safeParse(example);
    expect([parsed.error, parsed.data]).toEqual([undefined, example]);
  },
);
