import { describe, expect, it } from '@jest/globals';
import { applyPatch, changedValues, mergedByKey } from './patches.ts';

it('replaces the given fields, also by null, false and empty strings, and no others', () => {
  const before = { name: 'Ada', phone: '+491' as string | null, active: true, notes: 'a' };
  expect(applyPatch(before, { name: undefined, phone: null, active: false, notes: '' })).toEqual({
    name: 'Ada',
    phone: null,
    active: false,
    notes: '',
  });
  expect(before.notes).toBe('a');
});

it('merges by key, and null removes', () => {
  const before = { size: 1, color: 2 };
  expect(mergedByKey(before, { color: null, weight: 3, shape: null })).toEqual({ size: 1, weight: 3 });
  expect(mergedByKey(before)).toEqual(before);
  expect(before.color).toBe(2);
});

describe('changed values', () => {
  const before = { name: 'Ada', tags: ['a', 'b'], fields: { size: 1, color: 'red' }, phone: null as string | null };

  it('of a change are the former values of what it replaced, and of nothing else', () => {
    const after = { ...before, name: 'Bo', phone: '+491', tags: ['b', 'a'], more: 'unknown before' };
    expect(changedValues(before, after)).toEqual({ name: 'Ada', phone: null, tags: ['a', 'b'] });
  });

  it('of a change that replaces nothing are undefined, whatever the order of keys', () => {
    expect(changedValues(before, { ...before, fields: { color: 'red', size: 1 } })).toBeUndefined();
  });
});
