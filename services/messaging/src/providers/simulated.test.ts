import { expect, it } from '@jest/globals';
import { outgoing, providerTools } from '../../test/provider-servers.ts';
import { providers } from './all.ts';
import { provider } from './simulated.ts';

it('the end of an address decides what becomes of a message', async () => {
  const becomes = async (to: string) => {
    const result = await provider.send(outgoing({ to }), {}, providerTools());
    return result.outcome === 'accepted' ? result.receipts : result.outcome;
  };
  expect(await becomes('+4915112345601')).toEqual(['delivered']);
  expect(await becomes('+4915112345602')).toEqual(['delivered', 'read']);
  expect(await becomes('+4915112345603')).toBe('rejected');
  expect(await becomes('+4915112345604')).toEqual([]);
  expect(await becomes('+4915112345678')).toEqual(['delivered']);
  expect(await becomes('ada02@example.com')).toEqual(['delivered', 'read']);
  expect(await becomes('ada03@example01.com')).toBe('rejected');
  expect(await becomes('ada@example03.com')).toEqual(['delivered']);
  expect(await becomes('3@example.com')).toEqual(['delivered']);
});

it('its ids are those of the attempts', async () => {
  expect(await provider.send(outgoing(), {}, providerTools())).toMatchObject({
    providerId: `simulated-${outgoing().attemptId}`,
  });
});

it('every provider is found by its name', () => {
  expect([...providers.keys()].sort()).toEqual(['http', 'simulated', 'smtp', 'twilio', 'whatsapp_cloud']);
});
