import type { Channel } from '@customer-platform/contracts/messaging';
import { exceededBound } from '@customer-platform/service-kit';
import { jsonOf } from './json-of.ts';
import { type ChatMessage, type DocumentPassage, type PlanningDocument, type Prompt, writtenIn } from './prompt.ts';
import { channelOfReply } from './read-completion.ts';

/** Model name that indicates that no AI was used. */
export const simulatedModel = 'simulated';

const quotedLength = 600;
const notedLength = 500;

interface SimulatedStep {
  action: 'send_message' | 'add_note';
  title: string;
  reason: string;
  delay_minutes: number;
  params: Record<string, unknown>;
}

/**
 * Returns a completion in an AI provider's format, computed from the request alone. It quotes the best passage on the customer's channel
 * and adds the question to the deal as a note. Deterministic. Counts one token per four characters.
 */
export function simulatedCompletion({ messages }: Pick<Prompt, 'messages'>) {
  const document = readDocument(messages);
  return completionOf(messages, document ? planFor(document) : nothingToPlan);
}

/** Returns a completion for a sandbox. If the contact's message or the goal is a JSON object with `steps`, uses it as the plan. */
export function sandboxCompletion(prompt: Pick<Prompt, 'messages' | 'maxTokens'>) {
  const plan = givenPlan(prompt.messages);
  return plan ? completionOf(prompt.messages, plan, prompt.maxTokens) : simulatedCompletion(prompt);
}

/** Returns a completion of this plan. Counts at most `mostTokens`, the reservation, since a given plan may be longer than an AI's. */
function completionOf(messages: readonly ChatMessage[], plan: object, mostTokens = Number.POSITIVE_INFINITY) {
  const content = JSON.stringify(plan);
  const prompt_tokens = tokensOf(messages.map((message) => message.content).join(''));
  const completion_tokens = Math.min(tokensOf(content), mostTokens);
  return {
    id: 'chatcmpl-simulated',
    object: 'chat.completion',
    created: 0,
    model: simulatedModel,
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  };
}

/** Returns the document in the last user message that has one, or undefined. */
export function readDocument(messages: readonly ChatMessage[]): PlanningDocument | undefined {
  for (const { role, content } of messages.toReversed()) {
    if (role !== 'user') continue;
    const document = jsonOf(content) ?? jsonOf(content.split('\n', 1)[0]!);
    if (document instanceof Object && 'trigger' in document && 'contact' in document)
      return document as PlanningDocument;
  }
  return undefined;
}

function givenPlan(messages: readonly ChatMessage[]): object | undefined {
  const document = readDocument(messages);
  // Prefers the verbatim message, since the document has only the beginning of a long text.
  const written = messages.flatMap(({ role, content }) => (role === 'user' ? [writtenIn(content)] : []));
  const plan = [...written, document?.trigger.text, document?.goal]
    .map((text) => (text == null || exceededBound(text, givenPlanBounds) ? undefined : jsonOf(text)))
    .find((value): value is object => value instanceof Object && Object.hasOwn(value, 'steps'));
  return plan && { goal: 'Simulated plan: as it was given', ...plan };
}

/** Bounds of a given plan. A text beyond them is not used as a plan. */
const givenPlanBounds = { structure: 20_000, depth: 50 };

const tokensOf = (text: string) => Math.ceil(text.length / 4);

const nothingToPlan = {
  goal: 'Simulated plan: there is nothing to plan',
  rationale: 'Simulated plan: the request holds no document to plan from.',
  approval_reasons: [],
  steps: [],
};

function planFor(document: PlanningDocument) {
  const { agent, trigger, goal, deal } = document;
  const best = document.passages[0];
  const asked = trigger.text || goal || '';
  const steps: SimulatedStep[] = [];
  const channel = channelOfReply(document);
  if (channel && agent.actions.includes('send_message')) steps.push(messageOn(channel, trigger.kind, best));
  if (deal && asked !== '' && agent.actions.includes('add_note')) {
    steps.push({
      action: 'add_note',
      title: 'Note what was asked',
      reason: 'Whoever works on the deal sees it.',
      delay_minutes: 0,
      params: { body: `Asked: ${shortened(asked, notedLength)}` },
    });
  }
  return {
    goal: `Simulated plan: ${shortened(goal ?? 'Answer what the customer asked', 400)}`,
    rationale: best
      ? `Simulated plan: no AI was asked. It quotes the passage of "${best.source.title}" that fits best.`
      : 'Simulated plan: no AI was asked. No passage fits, so that a colleague has to answer.',
    approval_reasons: ['The plan is simulated: nobody has thought about it.'],
    steps,
  };
}

function messageOn(
  channel: Channel,
  trigger: PlanningDocument['trigger']['kind'],
  best: DocumentPassage | undefined,
): SimulatedStep {
  const step = (title: string, reason: string, params: object): SimulatedStep => {
    return { action: 'send_message', title, reason, delay_minutes: 0, params: { channel, ...params } };
  };
  if (best?.exact) {
    const reason = `"${best.source.title}" is answered as it is written.`;
    return step('Answer the question', reason, { answer: best.source.id });
  }
  if (best) {
    const body = `${shortened(best.text, quotedLength)} (from "${best.source.title}")`;
    return step('Answer the question', 'What is written down answers it.', { body });
  }
  const thanks = trigger === 'inbound_message' ? 'Thank you for your message.' : 'Thank you for your patience.';
  const body = `${thanks} A colleague will answer you soon.`;
  return step('Say that a colleague answers', 'Nothing that is written down answers it.', { body });
}

/** Shortens a text to `length` UTF-16 units, after its last complete sentence, else its last complete word. */
export function shortened(text: string, length: number): string {
  const whole = text.trim();
  if (whole.length <= length) return whole;
  const beginning = whole
    .slice(0, length)
    .toWellFormed()
    .replace(/\ufffd$/, '');
  const sentence = /^[\s\S]*[.!?](?=\s)/.exec(beginning)?.[0];
  if (sentence && sentence.length >= length / 4) return sentence;
  const words = /^[\s\S]*\s/.exec(beginning)?.[0].trimEnd();
  return `${words ?? beginning} …`;
}
