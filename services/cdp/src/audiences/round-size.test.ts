import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { nextSize, sizedRound } from './round-size.ts';

it('the next round is of as many contacts as fit into two seconds, within its bounds, and grows fourfold at most', () => {
  const cases = [
    [10_000, 500, 10_000],
    [10_000, 2_000, 10_000],
    [10_000, 20_000, 1_000],
    [1_000, 500, 4_000],
    [1_000, 1, 4_000],
    [4_000, 1, 10_000],
    [100, 600_000, 10],
    [10, 600_000, 10],
  ] as const;
  expect(cases.map(([size, tookMs]) => nextSize(size, tookMs))).toEqual(cases.map(([, , next]) => next));
});

it('a round after one that failed is a tenth of it, of that account alone, and the failure is passed on', async () => {
  const [failing, other] = [randomUUID(), randomUUID()];
  const sizes: number[] = [];
  const note = async (size: number) => void sizes.push(size);
  const fail = async (size: number) => {
    await note(size);
    throw new Error('cut off');
  };
  for (let attempt = 0; attempt < 5; attempt++) await expect(sizedRound(failing, fail)).rejects.toThrow('cut off');
  await sizedRound(other, note);
  expect(sizes).toEqual([10_000, 1_000, 100, 10, 10, 10_000]);
});
