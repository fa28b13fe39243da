/** Sends a request as the demo account: method, API path, body. Throws when the response is an error. */
export type Call = <Body>(method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: object) => Promise<Body>;

/** URL that receives WhatsApp messages for the demo account, and the secret that signs them. */
export interface DemoChannel {
  hook_url: string;
  secret: string;
}

const article = `# Delivery

We deliver from Monday to Saturday, between 9:00 and 18:00. Orders that reach us before noon are delivered on the same day.

# Opening hours

The shop is open from Monday to Friday, 9:00 to 17:00. On Saturday we only deliver.

# Returns

Within 30 days you can send anything back; we pay for the parcel.
`;

/**
 * Creates an agent in the demo account that replies to Casey from an article, with a plan to approve. The process at
 * `simulatedUrl` simulates both the AI provider and the channel.
 */
export async function makeDemoAgent(call: Call, simulatedUrl: string, contact: string): Promise<DemoChannel> {
  const channel = await call<{ hook_url: string; settings: { secret: string } }>(
    'PUT',
    '/v1/messages/channels/whatsapp',
    {
      provider: 'http',
      settings: { url: `${simulatedUrl}/messages` },
    },
  );
  await call('PATCH', '/v1/agents/settings', {
    base_url: `${simulatedUrl}/v1`,
    api_key: 'simulated',
    model: 'simulated',
    prices: { simulated: { prompt: 0, completion: 0 } },
  });
  await call('POST', '/v1/agents/knowledge/sources', {
    kind: 'article',
    title: 'Delivery and opening hours',
    body: article,
  });
  const pipelines = await call<{ data: { id: number }[] }>('GET', '/v1/crm/pipelines');
  await call('POST', '/v1/crm/deals', { title: 'Tea for the office', value_minor: 12_000, contact });
  const agent = await call<{ id: number }>('POST', '/v1/agents', {
    name: 'Robin',
    role: 'Answers what customers ask, from what the shop has written down.',
    pipelines: pipelines.data.slice(0, 1).map(({ id }) => id),
  });
  const blocks = [{ id: 'answer', kind: 'ai', params: { goal: 'Answer what the customer asked' } }];
  await call('PUT', `/v1/agents/${agent.id}/workflow/draft`, { blocks });
  await call('POST', `/v1/agents/${agent.id}/workflow/publish`, { note: 'The first one' });
  await call('POST', `/v1/agents/${agent.id}/go-live`, {});
  return { hook_url: channel.hook_url, secret: channel.settings.secret };
}
