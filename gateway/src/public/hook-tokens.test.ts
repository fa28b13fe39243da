import { afterEach, expect, it } from '@jest/globals';
import type { Upstream } from '../forward/upstream.ts';
import { HookTokens } from './hook-tokens.ts';

const realNow = performance.now;
afterEach(() => {
  performance.now = realNow;
});

/** A cell's service, which says whether it has a hook by `status`; 0: it does not respond. */
function cellOf(status: number) {
  const cell = {
    status,
    async probe() {
      if (cell.status === 0) throw new Error('no response');
      return { statusCode: cell.status, headers: { 'hook-account': 'ada' } };
    },
  };
  return cell;
}

it('knows a hook for a minute, and for another where the service does not say more by then', async () => {
  const cell = cellOf(200);
  const tokens = new HookTokens([cell as unknown as Upstream]);
  expect(tokens.peek('/hooks/1')).toBeUndefined();
  expect(await tokens.ask('/hooks/1', 'r')).toMatchObject({ owner: 'ada' });
  for (const minutes of [1, 2]) {
    performance.now = () => realNow.call(performance) + minutes * 60_001;
    expect(tokens.peek('/hooks/1')).toBeUndefined();
    cell.status = 0;
    expect(await tokens.ask('/hooks/1', 'r')).toMatchObject({ owner: 'ada' });
    expect(tokens.peek('/hooks/1')).toMatchObject({ owner: 'ada' });
  }
  await expect(tokens.ask('/hooks/2', 'r')).rejects.toThrow('no response');
  cell.status = 404;
  expect(await tokens.ask('/hooks/1', 'r')).toBeNull();
  cell.status = 0;
  await expect(tokens.ask('/hooks/1', 'r')).rejects.toThrow('no response');
});
