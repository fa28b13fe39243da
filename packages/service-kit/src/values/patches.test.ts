import { expect, it } from '@jest/globals';
import { mergedByKey, withGiven } from './patches.ts';

it('replaces what is given, null, false and empty texts too, and nothing else', () => {
  const before = { name: 'Ada', phone: '+491' as string | null, active: true, notes: 'a' };
  expect(withGiven(before, { name: undefined, phone: null, active: false, notes: '' })).toEqual({
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
