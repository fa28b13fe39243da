import { getConversation } from '@customer-platform/contracts/messaging';
import { answerRequest } from '@customer-platform/service-kit';
import { selectConversation } from './conversation.sql.ts';

export const answerGetConversation = answerRequest(getConversation, async ({ sql, accountId }, { contact, limit }) => {
  const rows = await selectConversation(sql, accountId, contact, limit);
  return { messages: rows.map((row) => ({ ...row, at: row.at.toISOString() })) };
});
