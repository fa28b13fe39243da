import { getConversation } from '@customer-platform/contracts/messaging';
import { answerRequest } from '@customer-platform/service-kit';
import { channelsOf } from '../channels/channels.sql.ts';
import { selectConversation } from './conversation.sql.ts';

export const answerGetConversation = answerRequest(getConversation, async ({ sql, accountId }, { contact, limit }) => {
  const [rows, channels] = await Promise.all([
    selectConversation(sql, accountId, contact, limit),
    channelsOf(sql, accountId),
  ]);
  return { messages: rows.map((row) => ({ ...row, at: row.at.toISOString() })), channels };
});
