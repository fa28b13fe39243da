import { firstCodePoints } from '@customer-platform/contracts/core';
import { getConversation } from '@customer-platform/contracts/messaging';
import { handleRequest } from '@customer-platform/service-kit';
import { channelsOf } from '../channels/channels.sql.ts';
import { type ConversationRow, selectConversation } from './conversation.sql.ts';
import { furthestAttempt } from './furthest-attempt.ts';

/** Maximum characters per text: fifty such texts fit into a reply on the bus, however they are escaped. */
const maxCharacters = 2_000;

export const handleGetConversation = handleRequest(getConversation, async ({ sql, accountId }, { contact, limit }) => {
  const [rows, channels] = await Promise.all([
    selectConversation(sql, accountId, contact, limit),
    channelsOf(sql, accountId),
  ]);
  return { messages: rows.map(toEntry), channels };
});

function toEntry(row: ConversationRow) {
  const { id, direction } = row;
  const { channel, body } = row.direction === 'in' ? row : row.steps[furthestAttempt(row.attempts).number - 1]!;
  return { id, direction, channel, body: firstCodePoints(body, maxCharacters), at: row.at.toISOString() };
}
