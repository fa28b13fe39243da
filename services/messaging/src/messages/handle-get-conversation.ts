import { firstCodePoints } from '@customer-platform/contracts/core';
import { getConversation, type WhatsAppTemplate } from '@customer-platform/contracts/messaging';
import { handleRequest } from '@customer-platform/service-kit';
import { channelsOf } from '../channels/channels.sql.ts';
import { type ConversationRow, selectConversation } from './conversation.sql.ts';
import { furthestAttempt } from './furthest-attempt.ts';
import { channelsWrittenOn } from './senders.sql.ts';

/** Maximum characters per text. Fifty such texts fit into a reply on the bus, even if every character is escaped. */
const maxCharacters = 2_000;

export const handleGetConversation = handleRequest(getConversation, async ({ sql, accountId }, { contact, limit }) => {
  const [rows, channels, written_on] = await Promise.all([
    selectConversation(sql, accountId, contact, limit),
    channelsOf(sql, accountId),
    channelsWrittenOn(sql, accountId, contact),
  ]);
  return { messages: rows.map(toEntry), channels, written_on };
});

function toEntry(row: ConversationRow) {
  const { id, direction } = row;
  const said = row.direction === 'in' ? row : row.steps[furthestAttempt(row.attempts).number - 1]!;
  const body = firstCodePoints(textOf(said), maxCharacters);
  return { id, direction, channel: said.channel, body, at: row.at.toISOString() };
}

/** Returns the text. For a template, returns its name and parameters, because only WhatsApp knows its text. */
function textOf({ body, template }: { body: string; template?: WhatsAppTemplate | undefined }): string {
  return template ? `[${template.name}] ${template.parameters.join(', ')}` : body;
}
