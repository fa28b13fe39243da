import { expect, it } from '@jest/globals';
import { BodyChunks } from './body-chunks.ts';

/** Returns the bytes of a body that came in these chunks, and the memory that is kept of it. */
async function kept(chunks: readonly Buffer[]): Promise<{ body: Buffer; memory: number }> {
  const body = new BodyChunks();
  for (const chunk of chunks) body.add(chunk);
  const pieces: Buffer[] = await body.stream().toArray();
  const memory = new Set(pieces.map(({ buffer }) => buffer));
  return { body: Buffer.concat(pieces), memory: [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0) };
}

/** Returns chunks of these lengths, each of another byte than its neighbours. */
const chunksOf = (lengths: readonly number[]) => lengths.map((length, index) => Buffer.alloc(length, index % 251));

it.each([
  ['one of one byte', [1], 1_024],
  ['one of usual length', [700], 1_024],
  ['many of one byte', Array(20_000).fill(1), 2 * 20_000],
  ['many that leave room in each slab', Array(100).fill(2_049), 2.1 * 204_900],
  ['one byte before each large one', Array(255).fill([1, 4_096]).flat(), 1.1 * 255 * 4_097],
  [
    'many of one byte before each large one',
    Array(50)
      .fill([...Array(600).fill(1), 4_096])
      .flat(),
    2 * 50 * 4_696,
  ],
])('keeps chunks whole and in little more memory than they have bytes: %s', async (_, lengths: number[], most) => {
  const chunks = chunksOf(lengths);
  const { body, memory } = await kept(chunks);
  expect(body.equals(Buffer.concat(chunks))).toBe(true);
  expect(memory).toBeLessThanOrEqual(most);
});
