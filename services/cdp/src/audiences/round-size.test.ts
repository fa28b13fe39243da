import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { nextPace, sizedRound } from './round-size.ts';

/** Returns the sizes of an account's rounds for a fixed cost per round and per contact, both in milliseconds. */
function sizesOf(rounds: number, fixedMs: number, eachMs: number, contacts = Number.POSITIVE_INFINITY): number[] {
  let pace: Parameters<typeof nextPace>[0] = { size: 10_000, last: undefined };
  return Array.from({ length: rounds }, () => {
    const taken = Math.min(pace.size, contacts);
    pace = nextPace(pace, { contacts: taken, tookMs: fixedMs + taken * eachMs });
    return pace.size;
  });
}

it('a round has as many contacts as fit into two seconds', () => {
  expect(sizesOf(3, 0, 0.1)).toEqual([10_000, 10_000, 10_000]);
  expect(sizesOf(3, 0, 5.4)).toEqual([370, 370, 370]);
  expect(sizesOf(3, 0, 100)).toEqual([100, 100, 100]);
});

it('the fixed cost of a round does not reduce its size', () => {
  for (const fixedMs of [1_900, 2_200, 20_000]) {
    const sizes = sizesOf(20, fixedMs, 0.05);
    expect(Math.min(...sizes.slice(-2))).toBeGreaterThan(8_000);
    expect(Math.min(...sizes)).toBeGreaterThan(900);
  }
  expect(sizesOf(10, 2_200, 5.4).slice(-2)).toEqual([370, 370]);
});

it('rounds with few changes are ignored, and the size grows at most fourfold', () => {
  expect(sizesOf(3, 2_200, 5, 1)).toEqual([10_000, 10_000, 10_000]);
  expect(nextPace({ size: 400, last: undefined }, { contacts: 400, tookMs: 10 })).toMatchObject({ size: 1_600 });
  expect(nextPace({ size: 400, last: undefined }, { contacts: 10, tookMs: 9_000 })).toMatchObject({ size: 400 });
});

it('a failure reduces the next round of the account to a tenth and is rethrown', async () => {
  const [failing, other] = [randomUUID(), randomUUID()];
  const sizes: number[] = [];
  const note = async (size: number) => {
    sizes.push(size);
    return 0;
  };
  const fail = async (size: number) => {
    await note(size);
    throw new Error('cut off');
  };
  for (let attempt = 0; attempt < 4; attempt++) await expect(sizedRound(failing, fail)).rejects.toThrow('cut off');
  await sizedRound(other, note);
  expect(sizes).toEqual([10_000, 1_000, 100, 100, 10_000]);
});
