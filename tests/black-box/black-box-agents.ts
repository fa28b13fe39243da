import { eventually, expectStatus, expectThat, patienceMs, step } from './black-box-steps.ts';
import { askUntil, type Send } from './json-request.ts';

interface Source {
  id: string;
  status: string;
  error: string;
}

interface Plan {
  id: number;
  status: string;
  last_error: string | null;
  steps: { action: string; status: string; body: string | null; result: { message?: string } | null }[];
}

const page =
  '<!doctype html><title>Delivery</title><h1>Delivery</h1><p>We deliver from Monday to Saturday, free above 40 euros.</p>';

/** Lets a sandbox agent with a simulated AI read a file and reply to a contact from it. */
export async function consult(call: Send): Promise<void> {
  await step('a file is read, and found by a search', async () => {
    const form = new FormData();
    form.append('file', new File([page], 'delivery.html'));
    const upload = () => call<Source>('POST', '/v1/agents/knowledge/files', { body: form });
    const { id } = (await eventually(upload, 201)).body;
    await askUntil(
      () => call<Source>('GET', `/v1/agents/knowledge/sources/${id}`),
      ({ body }) => body.status === 'ready',
      ({ text }) => `the source is ${text.slice(0, 500)}`,
      patienceMs,
    );
    const body = { query: 'Do you deliver on Saturday?' };
    const found = await call<{ data: { text: string }[] }>('POST', '/v1/agents/knowledge/search', { body });
    const [best] = expectStatus(found, 200).body.data;
    expectThat(best?.text.includes('Saturday') === true, `the search finds ${found.text.slice(0, 500)}`);
  });
  await step('an agent plans a reply, and the approved reply is sent', async () => {
    const contact = await eventually(
      () => call<{ id: string }>('POST', '/v1/cdp/contacts', { body: { name: 'Casey', phone: '+4930901801' } }),
      201,
    );
    const agent = await call<{ id: number }>('POST', '/v1/agents', { body: { name: 'Robin', role: 'Answers' } });
    const path = `/v1/agents/${expectStatus(agent, 201).body.id}`;
    const blocks = [{ id: 'answer', kind: 'ai' }];
    expectStatus(await call('PUT', `${path}/workflow/draft`, { body: { blocks } }), 200);
    expectStatus(await call('POST', `${path}/workflow/publish`, { body: {} }), 201);
    expectStatus(await call('POST', `${path}/go-live`, { body: {} }), 200);
    const body = { contact: contact.body.id, goal: 'Say whether we deliver on Saturday' };
    const { id } = (await eventually(() => call<Plan>('POST', `${path}/plans`, { body }), 202)).body;
    const isNow = (status: string) =>
      askUntil(
        () => call<Plan>('GET', `/v1/agents/plans/${id}`),
        ({ body: plan }) => plan.status === status,
        ({ text }) => `the plan is ${text.slice(0, 500)}`,
        patienceMs,
      );
    await isNow('awaiting_approval');
    expectStatus(await call('POST', `/v1/agents/plans/${id}/approve`, { body: {} }), 200);
    const { steps } = (await isNow('completed')).body;
    const message = steps[0]?.result?.message;
    await askUntil(
      () => call<{ status: string }>('GET', `/v1/messages/${message}`),
      ({ body: sent }) => sent.status === 'delivered',
      ({ text }) => `the message is ${text.slice(0, 500)}`,
      patienceMs,
    );
  });
}
