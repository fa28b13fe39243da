import { afterEach, expect, it } from '@jest/globals';
import type { Upstream } from '../forward/forward.ts';
import { HookTokens } from './hook-tokens.ts';

const realNow = performance.now;
afterEach(() => {
  performance.now = realNow;
});

/** A service whose response to probes is `status`; 0 means no response. */
function serviceOf(status: number) {
  const service = {
    status,
    async probe() {
      if (service.status === 0) throw new Error('no response');
      return { statusCode: service.status, headers: { 'hook-account': 'ada' } };
    },
  };
  return service;
}

it('caches a token for a minute, and for another minute each time the service does not respond', async () => {
  const service = serviceOf(200);
  const tokens = new HookTokens(service as unknown as Upstream);
  expect(tokens.peek('/hooks/1')).toBeUndefined();
  expect(await tokens.ask('/hooks/1', 'r')).toMatchObject({ owner: 'ada' });
  for (const minutes of [1, 2]) {
    performance.now = () => realNow.call(performance) + minutes * 60_001;
    expect(tokens.peek('/hooks/1')).toBeUndefined();
    service.status = 0;
    expect(await tokens.ask('/hooks/1', 'r')).toMatchObject({ owner: 'ada' });
    expect(tokens.peek('/hooks/1')).toMatchObject({ owner: 'ada' });
  }
  await expect(tokens.ask('/hooks/2', 'r')).rejects.toThrow('no response');
  service.status = 404;
  expect(await tokens.ask('/hooks/1', 'r')).toBeNull();
  service.status = 0;
  await expect(tokens.ask('/hooks/1', 'r')).rejects.toThrow('no response');
});
