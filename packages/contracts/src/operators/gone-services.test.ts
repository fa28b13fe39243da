import { expect, it } from '@jest/globals';
import { goneText, silentText } from './gone-services.ts';

it('says which services do not respond and what is not listed', () => {
  expect(goneText([], 'queues')).toBeUndefined();
  expect(goneText(['crm'], 'queues')).toEqual({
    who: 'crm does not respond',
    so: 'its queues are not listed',
    runbook: 'service-gone',
  });
  expect(goneText(['crm', 'cdp'], 'processes')).toEqual({
    who: 'crm, cdp do not respond',
    so: 'their processes are not listed',
    runbook: 'service-gone',
  });
});

it('says that the bus does not respond if the gateway is gone, unless the caller knows that the bus responds', () => {
  const so = 'the services may still be running';
  const runbook = 'outbox-stuck';
  expect(goneText(['gateway', 'cdp'], 'processes')).toEqual({ who: 'NATS does not respond', so, runbook });
  const who = 'NATS or PostgreSQL does not respond';
  expect(goneText(['gateway'], 'queues')).toEqual({ who, so, runbook });
  expect(silentText(['gateway'], 'queues')?.who).toBe('gateway does not respond');
});
