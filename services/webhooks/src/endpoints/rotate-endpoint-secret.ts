import * as contract from '@customer-platform/contracts/webhooks';
import { encryptSecret, newSigningSecret } from '@customer-platform/outbound';
import { implement } from '../implement.ts';
import { noteEndpointChanged } from '../sending/dispatch.sql.ts';
import type { PreviousSecret } from '../sending/read-queues.sql.ts';
import { findEndpoint, readSecrets, replaceSecret } from './endpoints.sql.ts';

/** Maximum number of previous secrets that sign together with the new one. One more drops the oldest. */
const maxPrevious = 4;

export const rotateEndpointSecret = implement(contract.rotateEndpointSecret, {
  find: ({ account, params, tx }) => findEndpoint(tx, account.id, params.endpoint_id, 'lock'),
  async handle({ account, body, found, tx, now, resources }) {
    const secret = newSigningSecret();
    const stored = encryptSecret(resources.secretKeys, secret, account.id, found.id);
    const former = await readSecrets(tx, account.id, found.id);
    const previous = previousSecrets(former, body.overlap_seconds, now);
    await replaceSecret(tx, account.id, { id: found.id, secret: stored, previous }, now);
    const isPaused = found.active && found.paused;
    await noteEndpointChanged(tx, { accountId: account.id, endpointId: found.id, isPaused }, now);
    return { secret };
  },
  committed: (resources) => resources.dispatcher.wake(),
});

type Secrets = Awaited<ReturnType<typeof readSecrets>>;

/** Returns the secrets that sign together with the new one: the replaced one and earlier ones whose overlap lasts. None without overlap. */
function previousSecrets(former: Secrets, overlapSeconds: number, now: Date): PreviousSecret[] {
  if (overlapSeconds === 0) return [];
  const until = new Date(now.getTime() + overlapSeconds * 1000).toISOString();
  const replaced = { secret: Buffer.from(former.secret).toString('base64'), until };
  const lasting = former.previous_secrets.filter((one) => new Date(one.until) > now);
  return [replaced, ...lasting].slice(0, maxPrevious);
}
