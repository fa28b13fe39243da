import {
  AddNoteParams,
  type AgentAction,
  agentAction,
  FollowUpParams,
  SendMessageParams,
} from '@customer-platform/contracts/agents';
import { firstCodePoints } from '@customer-platform/contracts/core';
import type { Channel } from '@customer-platform/contracts/messaging';
import { exceededBound, jsonBytes } from '@customer-platform/service-kit';
import { z } from 'zod';
import { maxPlanBytes } from '../plans/plan-size.ts';
import type { NewStep } from '../plans/plans.sql.ts';
import { channelRule } from '../plans/reachable-channels.ts';
import { firstOf } from './first-of.ts';
import type { PlanningDocument } from './prompt.ts';

const maxSteps = 10;
const maxDelayMinutes = 43_200;
/** Maximum length of a chain of follow-ups, so that an agent does not continue by itself forever. */
export const maxFollowUps = 10;
/** Maximum follow-ups per plan. With more than one, plans would multiply. */
const maxFollowUpsOfPlan = 1;
const maxReasons = 10;
/** Ten steps with all parameters have about 200 commas and brackets. The limit leaves room for text around the JSON. */
const maxStructure = { structure: 4_000, depth: 100 };
/** Maximum number of problems reported per completion. */
const maxReportedIssues = 5;

/** Facts against which a completion is validated. */
export interface CompletionContext {
  document: PlanningDocument;
  /** Number of plans that led to this one. */
  followUps: number;
}

/** A step as the AI planned it. Its delay starts when the plan is written. */
type PlannedStep = Pick<NewStep, 'action' | 'title' | 'reason' | 'params' | 'detail' | 'editable'> & {
  delayMinutes: number;
};

/** A plan that can be written. */
export interface PlannedPlan {
  goal: string;
  rationale: string;
  approvalReasons: string[];
  steps: PlannedStep[];
}

/** Text that is only displayed. Excess text is truncated, not refused. */
const shownText = (max: number) => z.string().transform((text) => firstCodePoints(text.trim(), max));
const shownOrNone = (max: number) =>
  shownText(max)
    .nullish()
    .transform((text) => text ?? '');

/** Returns the schema of a whole number, with one message for every violation. */
function wholeNumber(min: number, max: number) {
  const isOne = (value: unknown) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  return z.custom<number>(isOne, { error: `must be a whole number from ${min} to ${max}` });
}

const PlanJson = z.object({
  goal: shownText(500).refine((goal) => goal !== '', { error: 'must be a non-empty string' }),
  rationale: shownOrNone(2_000),
  approval_reasons: firstOf(z.array(shownText(300)), maxReasons).nullish(),
  steps: firstOf(
    z
      .array(
        z.object({
          action: agentAction,
          title: shownOrNone(200),
          reason: shownOrNone(1_000),
          delay_minutes: wholeNumber(0, maxDelayMinutes).nullish(),
          params: z.record(z.string(), z.unknown()),
        }),
      )
      .max(maxSteps, { error: `must be a list of at most ${maxSteps} steps` }),
    maxSteps + 1,
  ),
});
type CompletedStep = z.output<typeof PlanJson>['steps'][number];

const SentText = SendMessageParams.pick({ body: true });

/** A completion that cannot be used. The message tells the AI why. */
class UnusableCompletion extends Error {}

/** Reads the plan in a completion. If the plan cannot be used, returns the problem as a sentence for the AI. */
export function readCompletion(text: string, context: CompletionContext): PlannedPlan | { problem: string } {
  try {
    const { goal, rationale, approval_reasons, steps } = parse(PlanJson, jsonIn(text), '');
    if (steps.filter(({ action }) => action === 'follow_up').length > maxFollowUpsOfPlan)
      throw new UnusableCompletion(`steps must have at most ${maxFollowUpsOfPlan} follow_up, which makes another plan`);
    const planned = steps.map((step, index) => readStep(step, context, `steps[${index}]`));
    quoteExactFaq(planned, context.document);
    const approvalReasons = (approval_reasons ?? []).filter((reason) => reason !== '');
    // The API shows a step's text twice: in `params` and as `body`.
    if (jsonBytes({ goal, rationale, approvalReasons }) + 2 * jsonBytes(planned) > maxPlanBytes)
      throw new UnusableCompletion(`its texts must be shorter: the plan exceeds ${maxPlanBytes} bytes as JSON`);
    return { goal, rationale, approvalReasons, steps: planned };
  } catch (error) {
    if (error instanceof UnusableCompletion) return { problem: error.message };
    throw error;
  }
}

function readStep(step: CompletedStep, context: CompletionContext, at: string): PlannedStep {
  const { action, title, reason, delay_minutes } = step;
  const { actions } = context.document.agent;
  if (!actions.includes(action)) {
    throw new UnusableCompletion(`${at}.action must be one that is switched on: ${listed(actions)}`);
  }
  const made = readers[action](step, context, at);
  return { action, title: title || defaultTitles[action], reason, ...made, delayMinutes: delay_minutes ?? 0 };
}

/**
 * Replaces the first message by the best passage if that is an FAQ with `answer_exactly`. Does nothing if the AI already quotes an exact
 * passage.
 */
function quoteExactFaq(steps: PlannedStep[], { trigger, passages: [best] }: PlanningDocument): void {
  const messages = steps.filter(({ action }) => action === 'send_message');
  const first = messages[0];
  if (trigger.kind !== 'inbound_message' || !best?.exact || !first) return;
  if (messages.some(({ editable }) => editable.length === 0)) return;
  Object.assign(first, { params: { ...first.params, body: best.text }, editable: [] });
}

const defaultTitles: Record<AgentAction, string> = {
  send_message: 'Send a message',
  add_note: 'Add a note to the deal',
  follow_up: 'Follow up',
  move_stage: 'Move the deal',
};

/** Returns the default channel of a message: the trigger's channel if it reaches the customer, else the first that does. */
export function channelOfReply({ trigger, contact: { channels } }: PlanningDocument): Channel | undefined {
  return channels.find((one) => one === trigger.channel) ?? channels[0];
}

type Made = Pick<NewStep, 'params' | 'detail' | 'editable'>;

/** Readers of a step's params, by action. */
const readers: Record<AgentAction, (step: CompletedStep, context: CompletionContext, at: string) => Made> = {
  send_message({ params }, { document }, at) {
    const { trigger, contact, passages } = document;
    const named = params.channel ?? channelOfReply(document);
    const sentOn = contact.channels.find((one) => one === named);
    if (!sentOn) throw new UnusableCompletion(`${at}.params.channel ${channelRule(contact.channels)}`);
    const channel_locked = trigger.kind === 'inbound_message' && sentOn === trigger.channel;
    const exact = passages.filter((passage) => passage.exact);
    const quoted = exact.find(({ source }) => source.id === params.answer);
    if (params.answer && !quoted)
      throw new UnusableCompletion(
        `${at}.params.answer must be the source.id of a passage that is exact: ${listed(exact.map(({ source }) => source.id))}`,
      );
    const body = quoted?.text ?? parse(SentText, params, `${at}.params`).body;
    const editable = channel_locked ? ['body'] : ['body', 'channel'];
    return { params: { channel: sentOn, body, channel_locked }, detail: sentOn, editable: quoted ? [] : editable };
  },
  add_note({ params }, { document }, at) {
    if (!document.deal) throw new UnusableCompletion(`${at}.action must not be add_note: there is no deal`);
    return { params: parse(AddNoteParams, params, `${at}.params`), detail: null, editable: ['body'] };
  },
  follow_up({ params, delay_minutes }, { followUps }, at) {
    if (followUps >= maxFollowUps)
      throw new UnusableCompletion(
        `${at}.action must not be follow_up: this chain already has ${maxFollowUps} follow-ups`,
      );
    if ((delay_minutes ?? 0) < 1)
      throw new UnusableCompletion(`${at}.delay_minutes must be at least 1 for a follow_up`);
    const followed = parse(FollowUpParams, params, `${at}.params`);
    return { params: followed, detail: followed.goal, editable: ['goal'] };
  },
  move_stage({ params }, { document }, at) {
    if (!document.deal) throw new UnusableCompletion(`${at}.action must not be move_stage: there is no deal`);
    const { pipeline } = document.deal;
    const stage = pipeline.stages.find(({ id }) => id === params.stage);
    if (!stage) {
      const stages = pipeline.stages.map(({ id, name }) => `${id} (${name})`);
      throw new UnusableCompletion(`${at}.params.stage must be a stage of the deal's pipeline: ${listed(stages)}`);
    }
    return { params: { stage: stage.id }, detail: stage.name, editable: ['stage'] };
  },
};

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'there is none' : names.join(', ');
}

/** Returns the JSON object of a completion, which may be inside other text, such as a fenced block. */
function jsonIn(text: string): unknown {
  const braced = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1);
  for (const candidate of [text, fencedIn(text), braced]) {
    // Parsing blocks the event loop for 20 ms if the text has very many small values.
    if (!candidate || exceededBound(candidate, maxStructure)) continue;
    try {
      return JSON.parse(candidate, (_, value) => (typeof value === 'string' ? storable(value) : value));
    } catch {
      // The next candidate may be JSON.
    }
  }
  throw new UnusableCompletion('it must be one JSON object with no more values than a plan has');
}

const fence = '```';

/** Returns the text of the first fenced block, without its language. A regular expression for both fences would take quadratic time. */
function fencedIn(text: string): string | undefined {
  const begin = text.indexOf(fence);
  const end = begin === -1 ? -1 : text.indexOf(fence, begin + fence.length);
  return end === -1 ? undefined : text.slice(begin + fence.length, end).replace(/^json/i, '');
}

/** Replaces NUL and lone surrogates, which PostgreSQL cannot store, not even in JSON. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, at: string): z.output<Schema> {
  const parsed = schema.safeParse(value, { error: defaultMessage });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, maxReportedIssues).map(({ path, message }) => {
    const location = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
    return `${`${at}${location}`.replace(/^\./, '') || 'the plan'} ${message}`;
  });
  throw new UnusableCompletion(issues.join('; '));
}

const kinds: Record<string, string> = { string: 'a string', array: 'a list', object: 'an object', record: 'an object' };

/** Returns the message of an issue if the schema does not define one. */
function defaultMessage(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') return `must be ${kinds[issue.expected] ?? `a ${issue.expected}`}`;
  return issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : undefined;
}
