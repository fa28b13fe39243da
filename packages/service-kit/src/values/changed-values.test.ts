import { expect, it } from '@jest/globals';
import { changedValues } from './changed-values.ts';

const before = { name: 'Ada', tags: ['a', 'b'], fields: { size: 1, color: 'red' }, phone: null as string | null };

it('of a change are the former values of what it replaced, and of nothing else', () => {
  const after = { ...before, name: 'Bo', phone: '+491', tags: ['b', 'a'], more: 'unknown before' };
  expect(changedValues(before, after)).toEqual({ name: 'Ada', phone: null, tags: ['a', 'b'] });
});

it('of a change that replaces nothing are undefined, whatever the order of keys', () => {
  expect(changedValues(before, { ...before, fields: { color: 'red', size: 1 } })).toBeUndefined();
});
