import { randomUUID } from 'node:crypto';
import * as contract from '@customer-platform/contracts/messaging';
import { implement } from '../implement.ts';
import { insertInbound } from './receipts.sql.ts';

export const simulateInbound = implement(contract.simulateInbound, {
  async handle({ account, body, tx, now, fail }) {
    if (account.mode === 'live') return fail('not_found', 'Only a sandbox has simulated messages: use a test key');
    const { channel, from, name, type, text, media, reaction_to } = body;
    const message = {
      providerId: `simulated-${randomUUID()}`,
      sender: from,
      from,
      name,
      type,
      body: text,
      media: media ? { ...media, file_name: media.file_name ?? null } : null,
      reactionTo: reaction_to ?? null,
      at: now,
    };
    const [id] = await insertInbound(tx, { account_id: account.id, channel }, [message], now);
    return { id: id! };
  },
  committed: ({ inbound }) => inbound.wake(),
});
