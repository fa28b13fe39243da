import { expect, it } from '@jest/globals';
import { givenValues, withoutGiven } from './given-values.ts';

const none = { external_id: null, name: '', phone: null, email: null, tags: [], fields: {} };

it('is what the survivor did not have, and taken from it again but for what has changed since', () => {
  const before = { ...none, name: 'Ada', tags: ['a'], fields: { age: 36 } };
  const after = { ...none, name: 'Ada', phone: '+4930901820', tags: ['a', 'b'], fields: { age: 36, size: 'M' } };
  const given = givenValues(before, after);
  expect(given).toEqual({ texts: { phone: '+4930901820' }, tags: ['b'], fields: { size: 'M' } });
  expect(withoutGiven(after, given)).toEqual(before);
  expect(withoutGiven({ ...after, phone: '+4930901821' }, given).phone).toBe('+4930901821');
});

it('is found in time in proportion to the number of tags', () => {
  const tags = Array.from({ length: 60_000 }, (_, index) => `tag ${index}`);
  const began = process.cpuUsage();
  expect(givenValues({ ...none, tags }, { ...none, tags: [...tags, 'more'] }).tags).toEqual(['more']);
  // The processor's time: each compared with each takes seconds of it.
  expect(process.cpuUsage(began).user / 1_000).toBeLessThan(1_500);
});
