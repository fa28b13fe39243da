import type { Channel } from '@customer-platform/contracts/messaging';
import { brokenBound } from '@customer-platform/service-kit';
import { jsonOf } from './json-of.ts';
import { type ChatMessage, type PlanningDocument, type Prompt, type ToldPassage, writtenIn } from './prompt.ts';
import { channelOfReply } from './read-completion.ts';

/** Model name that shows that no AI was used. */
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
 * Returns a completion in an AI provider's format, from the request alone: it quotes the best passage on the customer's channel and
 * notes the question on the deal. Deterministic. Counts one token per four characters.
 */
export function simulatedCompletion({ messages }: Pick<Prompt, 'messages'>) {
  const document = readDocument(messages);
  return completionOf(messages, document ? planFor(document) : nothingToPlan);
}

/** Returns the same for a sandbox, where what the contact wrote, or the goal, is the plan if it is a JSON object with `steps`: whoever tries things out decides. */
export function sandboxCompletion(prompt: Pick<Prompt, 'messages' | 'maxTokens'>) {
  const plan = givenPlan(prompt.messages);
  return plan ? completionOf(prompt.messages, plan, prompt.maxTokens) : simulatedCompletion(prompt);
}

/** No more is counted than was reserved: a given plan may be longer than any that an AI would return. */
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
  // The document has but the beginning of a long text.
  const written = messages.flatMap(({ role, content }) => (role === 'user' ? [writtenIn(content)] : []));
  const plan = [...written, document?.trigger.text, document?.goal]
    .map((text) => (text == null || brokenBound(text, most) ? undefined : jsonOf(text)))
    .find((value): value is object => value instanceof Object && Object.hasOwn(value, 'steps'));
  return plan && { goal: 'Simulated plan: as it was given', ...plan };
}

/** Bounds of a given plan: a text beyond them is none. */
const most = { structure: 20_000, depth: 50 };

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
  best: ToldPassage | undefined,
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

/** Returns the beginning of a text, up to its last sentence, else its last word, within `length` characters. */
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
