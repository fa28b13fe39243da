import { eventually, expectStatus, expectThat, patienceMs, step } from './black-box-steps.ts';
import { askUntil, type Send } from './json-request.ts';
import { startReceiver, whyForged } from './webhook-receiver.ts';

/** Creates a deal and an order of the contact, and declines the order. */
export async function trade(call: Send, contact: string): Promise<void> {
  await step('a deal can be created and won', async () => {
    const body = { title: 'Black box', contact, value_minor: 5_000 };
    const deal = await eventually(() => call<{ id: string }>('POST', '/v1/crm/deals', { body }), 201, true);
    const won = expectStatus(await call<{ status: string }>('POST', `/v1/crm/deals/${deal.body.id}/win`), 200).body;
    expectThat(won.status === 'won', `its status is ${won.status}: expected won`);
  });
  await step('an order can be created and declined', async () => {
    const items = [{ sku: 'box', name: 'A box', quantity: 2, unit_price_minor: 1_250 }];
    const send = () =>
      call<{ id: string; total_minor: number }>('POST', '/v1/catalogue/orders', { body: { contact, items } });
    const order = (await eventually(send, 201, true)).body;
    expectThat(order.total_minor === 2_500, `its total is ${order.total_minor}: expected 2500`);
    const path = `/v1/catalogue/orders/${order.id}/decline`;
    const declined = expectStatus(await call<{ status: string }>('POST', path, { body: {} }), 200).body;
    expectThat(declined.status === 'declined', `its status is ${declined.status}: expected declined`);
  });
}

interface Message {
  id: string;
  status: string;
  attempts: { channel: string; status: string; reason: string | null }[];
}

/** Sends the contact a message through a channel whose provider rejects it and one that accepts it. A server here simulates both. */
export async function converse(
  call: Send,
  contact: string,
  { receiverHost, receiverListen }: { receiverHost: string; receiverListen: string },
): Promise<void> {
  const provider = await startReceiver(receiverListen, ({ path }) =>
    path === '/sms' ? { status: 200, body: '{"id":"black-box"}' } : { status: 422, body: '{"message":"not here"}' },
  );
  try {
    const url = `http://${receiverHost}:${provider.port}`;
    const [, secret] = await step('channels can be set up', async () => {
      const secrets: string[] = [];
      for (const channel of ['whatsapp', 'sms']) {
        const body = { provider: 'http', settings: { url: `${url}/${channel}` } };
        const put = () => call<{ settings: { secret: string } }>('PUT', `/v1/messages/channels/${channel}`, { body });
        secrets.push((await eventually(put, 200)).body.settings.secret);
      }
      return secrets as [string, string];
    });
    await step('a message that WhatsApp rejects is sent by SMS', async () => {
      const channels = ['whatsapp', 'sms'].map((channel) => ({ channel, body: `Hello by ${channel}` }));
      const send = () => call<Message>('POST', '/v1/messages', { body: { contact, channels } });
      const { id } = (await eventually(send, 202, true)).body;
      const sent = await askUntil(
        () => call<Message>('GET', `/v1/messages/${id}`),
        ({ body }) => body.status === 'sent',
        ({ text }) => `the message is ${text.slice(0, 500)}`,
        patienceMs,
      );
      const attempts = sent.body.attempts.map((one) => `${one.channel} ${one.status} ${one.reason}`).join(', ');
      expectThat(attempts === 'whatsapp failed rejected, sms sent null', `its attempts are ${attempts}`);
      const bySms = provider.received.filter(({ path }) => path === '/sms');
      expectThat(bySms.length === 1, `the provider was called ${bySms.length} times: expected once`);
      const forged = whyForged(bySms[0]!, secret, Date.now());
      expectThat(forged === null, `the request to the provider is not signed: ${forged}`);
    });
  } finally {
    await provider.close();
  }
}
