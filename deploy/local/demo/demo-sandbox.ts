import type { Call } from './demo-agent.ts';

/** Operations whose examples fill the demo's sandbox. Each comes after the operations whose results it refers to. */
const story = [
  'createContact',
  'recordConsent',
  'recordEvents',
  'createAudience',
  'createProduct',
  'createOrder',
  'createDeal',
  'createStaff',
  'createTimeOff',
  'createBookingType',
  'bookAppointment',
  'sendMessage',
  'createCollection',
  'createSource',
  'createAgent',
  'putWorkflowDraft',
  'publishWorkflow',
  'goLiveAgent',
  'requestPlan',
];

/** Parameter names by which later paths and examples refer to the resource an operation creates. */
const namesOf: Record<string, string> = {
  createAgent: 'agent_id',
  createBookingType: 'booking_type',
  createCollection: 'collection',
  createContact: 'contact_id',
};

interface Described {
  operationId: string;
  requestBody?: { content: Record<string, { example: Record<string, unknown> }> };
  responses: Record<string, { content?: Record<string, Media> }>;
}
interface Media {
  example?: unknown;
  examples?: { default: { $ref: string } };
}
interface ApiDocument {
  paths: Record<string, Record<string, Described>>;
  components: { examples: Record<string, { value: unknown }> };
}
interface Created {
  id?: string | number;
}

/** Team member whom the examples mention. The sandbox must have this member before the examples run. */
export const exampleMember = { name: 'Mira Klein', email: 'mira@salon-aurora.example' };

/**
 * Sends the reference's examples to a sandbox, so that the resources they mention exist. A reader who tries a request as the reference
 * shows it then gets a result.
 */
export async function fillSandbox(call: Call): Promise<void> {
  const document = await call<ApiDocument>('GET', '/v1/openapi.json');
  const { data } = await call<{ data: { id: number }[] }>('GET', '/v1/crm/pipelines');
  const named: Record<string, unknown> = {
    email: exampleMember.email,
    pipelines: data.slice(0, 1).map(({ id }) => id),
  };
  const texts = new Map<string, string>();
  for (const key of story) {
    const { path, method, operation } = find(document, key);
    const example = exampleBody(operation);
    if (key === 'bookAppointment') texts.set(String(example.starts_at), await freeStart(call, named.booking_type));
    const body = JSON.parse(JSON.stringify(example), (name, value: unknown) =>
      typeof value === 'string' ? (texts.get(value) ?? value) : (named[name] ?? value),
    ) as object;
    const { id } = await call<Created>(
      method,
      path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(named[name])),
      body,
    );
    const exampleId = exampleResponse(document, operation)?.id;
    if (typeof id === 'string' && typeof exampleId === 'string') texts.set(exampleId, id);
    const name = namesOf[key];
    if (name !== undefined) named[name] = id;
  }
}

function find({ paths }: ApiDocument, key: string) {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods))
      if (operation.operationId === key) return { path, method: method.toUpperCase() as 'POST' | 'PUT', operation };
  }
  throw new Error(`the API has no ${key}`);
}

function exampleBody({ requestBody }: Described): Record<string, unknown> {
  return requestBody!.content['application/json']!.example;
}

function exampleResponse({ components }: ApiDocument, { responses }: Described): Created | undefined {
  const [response] = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const { example, examples } = response?.[1].content?.['application/json'] ?? {};
  const name = examples?.default.$ref.split('/').at(-1);
  return (name === undefined ? example : components.examples[name]?.value) as Created | undefined;
}

async function freeStart(call: Call, bookingType: unknown): Promise<string> {
  const { data } = await call<{ data: { starts_at: string }[] }>(
    'GET',
    `/v1/calendar/free-times?booking_type=${bookingType}&limit=1`,
  );
  if (data[0] === undefined) throw new Error('the sandbox has no free time');
  return data[0].starts_at;
}
