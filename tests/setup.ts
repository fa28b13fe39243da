import { type Client, type CreateAgentBody, createClient } from '@customer-platform/client';
import { waitFor } from '@customer-platform/testkit';

/** Sets up a calendar that is always open, with one contact, one teammate and a booking type of five minutes. */
export async function openCalendar(
  client: Client,
): Promise<{ contact: string; bookingType: number; startAt(index: number): string }> {
  const always = [['00:00', '24:00']] as [string, string][];
  const hours = Object.fromEntries(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, always]));
  const contact = await client.cdp.contacts.create({ body: { name: 'Ada', phone: '+4930901820' } });
  // The member may have joined just now, and the event takes time to reach the service.
  await waitFor('the teammate', () => client.calendar.staff.create({ body: { email: 'ada@example.com', hours } }));
  const type = await client.calendar.bookingTypes.create({
    body: { name: 'Call', duration_minutes: 5, slot_interval_minutes: 5, staff: ['ada@example.com'], window_days: 365 },
  });
  const tomorrow = Math.floor(Date.now() / 86_400_000 + 1) * 86_400_000;
  return {
    contact: contact.id,
    bookingType: type.id,
    startAt: (index) => new Date(tomorrow + index * 300_000).toISOString(),
  };
}

/** Creates a live agent that replies. Returns its id. */
export async function hireAgent(client: Client, settings: Partial<CreateAgentBody> = {}): Promise<number> {
  const { id: agent_id } = await client.agents.create({ body: { name: 'Robin', role: 'Answers', ...settings } });
  const params = { agent_id };
  await client.agents.workflow.draft.put({ params, body: { blocks: [{ id: 'answer', kind: 'ai' }] } });
  await client.agents.workflow.publish({ params });
  await client.agents.goLive({ params });
  return agent_id;
}

/** Returns a client that retries up to 300 times, for changes that must not get lost. */
export function retryingClient(baseUrl: string, apiKey: string): Client {
  return createClient({ baseUrl, apiKey, retries: 300, timeoutMs: 20_000 });
}
