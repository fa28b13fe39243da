import { operations } from '@customer-platform/contracts';
import { examples, parameterExamples } from '@customer-platform/contracts/examples';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Story } from './story.ts';

/** Checks that a sandbox accepts the examples of the reference. */
let platform: Platform;
let account: TestAccount;
let story: Story;

beforeAll(async () => {
  platform = await startPlatform();
  account = await platform.account({ timezone: 'Europe/Berlin', country: 'DE' });
  const { email } = examples.createStaff!.body as { email: string };
  await platform.admin('POST', `/admin/accounts/${account.sandboxId}/members`, { name: 'Mira Klein', email });
  story = new Story(account);
  const { data } = await account.testClient.crm.pipelines.list();
  story.numbers.sales_id = data[0]!.id;
  story.numbers.stage_id = data[0]!.stages[1]!.id;
  await story.send('createContact');
}, 60_000);
afterAll(async () => await platform?.stop());

const send = async (...keys: string[]) => {
  for (const key of keys) await story.send(key);
};

/** Replaces the example times of a booking and its reschedule with the next free times. */
async function chooseTimes(): Promise<void> {
  const booking_type = story.numbers.booking_type_id!;
  const { data } = await account.testClient.calendar.freeTimes.list({ query: { booking_type, limit: 50 } });
  const starts = ['bookAppointment', 'rescheduleAppointment'].map(
    (key) => (examples[key]!.body as { starts_at: string }).starts_at,
  );
  // The first time may pass before it is booked.
  story.texts.set(starts[0]!, data[1]!.starts_at);
  story.texts.set(starts[1]!, data.at(-1)!.starts_at);
}

/** Creates a second Lena and waits for the pair. */
async function duplicate(): Promise<void> {
  const { id: twin } = await story.send('createContact', { isOther: true });
  await story.send('findDuplicates');
  story.numbers.duplicate_id = await waitFor('the pair to be found', async () => {
    const { data } = await account.testClient.cdp.duplicates.list();
    const lena = story.texts.get(String(parameterExamples.contact_id));
    return data.find(({ contacts }) => [lena, twin].every((each) => contacts.some(({ id }) => id === each)))?.id;
  });
}

/** Requests a plan and waits until it can be decided. */
async function plan(): Promise<void> {
  const { id: plan_id } = await story.send('requestPlan');
  story.numbers.plan_id = plan_id;
  story.numbers.step_id = await waitFor('the plan to be made', async () => {
    const { status, steps, last_error } = await account.testClient.agents.plans.get({ params: { plan_id } });
    if (status === 'failed') throw new Error(last_error ?? '');
    return status === 'awaiting_approval' && steps[0]!.id;
  });
}

it('customer data', async () => {
  await send('updateContact', 'putContactByExternalId', 'writeContacts', 'recordConsent', 'recordEvents');
  await send('createAudience', 'updateAudience', 'refreshAudience', 'previewAudience');
  await duplicate();
  await send('dismissDuplicate');
  await duplicate();
  await send('mergeDuplicate', 'undoDuplicate');
});

it('catalogue', async () => {
  await send('createProduct', 'updateProduct');
  await send('createOrder', 'confirmOrder', 'fulfilOrder');
  await send('createOrder', 'declineOrder');
  await send('createOrder', 'cancelOrder');
});

it('pipelines', async () => {
  story.numbers.pipeline_id = (await story.send('createPipeline')).id;
  await send('updatePipeline', 'createDeal', 'updateDeal', 'moveDeal', 'winDeal', 'reopenDeal', 'loseDeal');
});

it('messages', async () => {
  await send('putChannel', 'testChannel', 'updateTemplates', 'updateMessageSettings', 'sendMessage', 'simulateInbound');
  const { since } = examples.resendMessages!.body as { since: string };
  story.texts.set(since, new Date(platform.clock.now().getTime() - 3_600_000).toISOString());
  await send('resendMessages');
});

it('webhooks', async () => {
  await send('createEndpoint', 'updateEndpoint', 'rotateEndpointSecret');
  const { id: delivery } = await story.send('testEndpoint');
  story.texts.set(String(parameterExamples.delivery_id), delivery);
  await waitFor('the delivery to be tried', async () => {
    const { id: endpoint_id } = (await account.testClient.webhooks.list()).data[0]!;
    return (await account.testClient.webhooks.deliveries.list({ params: { endpoint_id } })).data[0]?.tries.length;
  });
  await send('redeliver', 'replayDeliveries');
  // The example's resource does not exist.
  await story.send('triggerEvent', { isOther: true });
});

it('agents', async () => {
  await send('updateAgentSettings');
  story.numbers.collection_id = (await story.send('createCollection')).id;
  await send('createSource', 'updateSource', 'refreshSource', 'uploadFile', 'searchKnowledge');
  story.numbers.agent_id = (await story.send('createAgent')).id;
  await send('putWorkflowDraft', 'publishWorkflow', 'goLiveAgent');
  for (const decision of ['approvePlan', 'rejectPlan', 'cancelPlan']) {
    await plan();
    await send(decision);
  }
  await send('updateAgent');
  await plan();
  await send('updatePlanStep', 'approvePlanStep');
  await plan();
  await send('rejectPlanStep', 'pauseAgent');
});

it('calendar', async () => {
  await send('createStaff', 'updateStaff', 'createTimeOff', 'updateSettings');
  story.numbers.booking_type_id = (await story.send('createBookingType')).id;
  await send('updateBookingType');
  await chooseTimes();
  await send(
    'bookAppointment',
    'updateAppointment',
    'rescheduleAppointment',
    'confirmAppointment',
    'completeAppointment',
  );
  await chooseTimes();
  await send('bookAppointment', 'cancelAppointment');
  await chooseTimes();
  const { ends_at } = await story.send('bookAppointment');
  platform.clock.set(ends_at);
  await send('markNoShow');
});

it('team and keys', async () => {
  await send('addTeamMember', 'createApiKey', 'rotateApiKey');
});

it('the clock', async () => {
  const { now } = await account.testClient.sandbox.clock.get();
  const { advance_to } = examples.advanceSandboxClock!.body as { advance_to: string };
  story.texts.set(advance_to, new Date(Date.parse(now) + 3_600_000).toISOString());
  await send('advanceSandboxClock');
});

it('every body of the reference was sent', () => {
  const withBody = operations.filter(({ body }) => body).map(({ key }) => key);
  expect(withBody.filter((key) => !story.sent.has(key))).toEqual([]);
});
