import { type Receiver, startReceiver } from '@customer-platform/testkit';

/** Step of an AI's plan. */
export interface PlannedStep {
  action: string;
  title?: string;
  reason?: string;
  delay_minutes?: number;
  params: Record<string, unknown>;
}

/** The account's own OpenAI-compatible AI on loopback. Plans the same steps for any prompt. */
export interface OwnAi extends Receiver {
  /** Settings of an account that uses it. */
  settings: { base_url: string; api_key: string; model: string };
  /** Steps that the AI plans from now on. */
  steps: PlannedStep[];
}

export async function startOwnAi(): Promise<OwnAi> {
  const receiver = await startReceiver();
  const ai: OwnAi = Object.assign(receiver, {
    settings: { base_url: `${receiver.url}/v1`, api_key: 'own-key', model: 'own-model' },
    steps: [{ action: 'send_message', params: { channel: 'sms', body: 'We will see to it.' } }],
  });
  receiver.respond = (_request, response) => {
    const steps = ai.steps.map((step) => ({ title: 'A step', reason: 'It was asked for', delay_minutes: 0, ...step }));
    const plan = { goal: 'Answer', rationale: 'Somebody asked', approval_reasons: [], steps };
    const completion = {
      id: 'own',
      object: 'chat.completion',
      created: 1_790_000_000,
      model: ai.settings.model,
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: JSON.stringify(plan) } }],
      usage: { prompt_tokens: 400, completion_tokens: 100, total_tokens: 500 },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion));
  };
  return ai;
}
