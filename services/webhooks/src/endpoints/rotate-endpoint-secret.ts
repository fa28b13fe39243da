import * as contract from '@customer-platform/contracts/webhooks';
import { implement } from '../resources.ts';
import { findEndpoint, replaceSecret } from './endpoints.sql.ts';
import { encryptSecret, newSigningSecret } from './secret.ts';

export const rotateEndpointSecret = implement(contract.rotateEndpointSecret, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id, 'lock'),
  async handle({ account, body, found, tx, now, resources }) {
    const secret = newSigningSecret();
    const stored = encryptSecret(resources.secretKeys, secret, account.id, found.id);
    const overlapMs = body.overlap_seconds * 1000;
    const overlapUntil = overlapMs > 0 ? new Date(now.getTime() + overlapMs) : null;
    await replaceSecret(tx, account.id, found.id, stored, overlapUntil, now);
    return { secret };
  },
});
