import { describe, expect, it } from '@jest/globals';
import { documentOf, message, planOf } from '../../test/planning.ts';
import type { PlanningDocument } from './prompt.ts';
import { maxFollowUps, readCompletion } from './read-completion.ts';

const read = (completion: unknown, document: Partial<PlanningDocument> = {}, followUps = 0) =>
  readCompletion(typeof completion === 'string' ? completion : JSON.stringify(completion), {
    document: documentOf(document),
    followUps,
  });

/** Returns the problem of a completion; undefined if it can be used. */
function problemOf(completion: unknown, document: Partial<PlanningDocument> = {}, followUps = 0): string | undefined {
  const result = read(completion, document, followUps);
  return 'problem' in result ? result.problem : undefined;
}

const note = (body: unknown, more: object = {}) => ({ action: 'add_note', params: { body }, ...more });
const followUp = (delay_minutes: number, goal = 'Ask again') => {
  return { action: 'follow_up', delay_minutes, params: { goal } };
};
const move = (stage: unknown) => ({ action: 'move_stage', params: { stage } });
const letters = (count: number) => 'x'.repeat(count);

it('a list is validated only up to its maximum length', () => {
  const reasons = Array.from({ length: 3_000 }, (_, index) => (index < 10 ? `Reason ${index}` : index));
  expect(read({ ...planOf(), approval_reasons: reasons })).toMatchObject({ approvalReasons: reasons.slice(0, 10) });
  const steps = Array.from({ length: 3_000 }, (_, index) => (index < 11 ? message('Hello') : index));
  expect(problemOf({ ...planOf(), steps })).toBe('steps must be a list of at most 10 steps');
});

it('a completion with very many or very deep values is not parsed', () => {
  const few = 'it must be one JSON object with no more values than a plan has';
  expect(problemOf({ ...planOf(), approval_reasons: Array(30_000).fill(1) })).toBe(few);
  expect(problemOf({ ...planOf(), rationale: JSON.parse(`${'['.repeat(101)}${']'.repeat(101)}`) })).toBe(few);
  const hidden = `" ${JSON.stringify({ ...planOf(), approval_reasons: Array(30_000).fill(1) })}`;
  for (const text of [hidden, `" \`\`\`${hidden.slice(2)}\`\`\``]) expect(problemOf(text)).toBe(few);
  expect(problemOf({ ...planOf(), rationale: ','.repeat(30_000) })).not.toBe(few);
});

it('a plan with texts too long for its events is refused', () => {
  const long = (character: string) => planOf(...Array.from({ length: 10 }, () => message(character.repeat(4_096))));
  expect(problemOf(long('長'))).toBeUndefined();
  expect(problemOf(long('\u0001'))).toBe('its texts must be shorter: the plan exceeds 409600 bytes as JSON');
});

describe('the JSON of a completion', () => {
  const json = JSON.stringify(planOf());
  it.each([
    ['alone', json],
    ['in a fenced block', `Here it is:\n\`\`\`json\n${json}\n\`\`\`\nGood luck!`],
    ['in a block without a language', `\`\`\`\n${json}\n\`\`\``],
    ['among words', `The plan is ${json}.`],
  ])('is read %s', (_, text) => {
    expect(read(text)).toMatchObject({ goal: 'Answer the question', steps: [{ action: 'send_message' }] });
  });

  it.each([
    ['', 'it must be one JSON object'],
    ['No.', 'it must be one JSON object'],
    ['{"goal": "half', 'it must be one JSON object'],
    ['{"goal": "  ", "steps": []}', 'goal'],
  ])('is refused if it is no plan: %s', (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });

  it.each([
    ['[]', 'the plan must be an object'],
    ['{}', 'goal must be a string; steps must be a list'],
    [{ goal: 7, rationale: [], steps: {} }, 'goal must be a string; rationale must be a string; steps must be a list'],
    [{ ...planOf(), approval_reasons: 'none' }, 'approval_reasons must be a list'],
    [{ ...planOf(), approval_reasons: [{}] }, 'approval_reasons[0] must be a string'],
    [planOf([]), 'steps[0] must be an object'],
    [
      planOf(note('N', { action: 'call' })),
      'steps[0].action must be one of send_message, add_note, follow_up, move_stage',
    ],
    [planOf(note('N', { title: 1, reason: 2 })), 'steps[0].title must be a string; steps[0].reason must be a string'],
    [planOf(note('N', { delay_minutes: '5' })), 'steps[0].delay_minutes must be a whole number from 0 to 43200'],
    [planOf(note('N', { delay_minutes: 1e300 })), 'steps[0].delay_minutes must be a whole number from 0 to 43200'],
    [planOf(note('N', { params: 'none' })), 'steps[0].params must be an object'],
    [planOf(note(undefined)), 'steps[0].params.body must be a string'],
    [planOf(note('')), 'steps[0].params.body must be a string of 1 to 2000 characters'],
    [planOf(message('', { body: 7 })), 'steps[0].params.body must be a string'],
    [planOf(message('')), 'steps[0].params.body must be a string of 1 to 4096 characters'],
    [
      planOf(message('Hello', { channel: 7 })),
      'steps[0].params.channel must be one that is set up and reaches the contact: whatsapp, sms',
    ],
    [
      planOf(message('Hello', { answer: {} })),
      'steps[0].params.answer must be the source.id of a passage that is exact: there is none',
    ],
    [planOf({ action: 'follow_up', delay_minutes: 1, params: {} }), 'steps[0].params.goal must be a string'],
    [planOf(move(null)), "steps[0].params.stage must be a stage of the deal's pipeline: 11 (New), 12 (Won over)"],
  ])('is refused with the rule it breaks: %j', (completion, problem) => {
    expect(problemOf(completion)).toBe(problem);
  });

  it('is found in linear time, where quadratic time would take minutes', () => {
    const length = 1_000_000;
    for (const text of [
      `\`\`\`\`\`${' '.repeat(length)}`,
      '```{'.repeat(length / 4),
      `\`\`\`json${'\n'.repeat(length)}`,
    ])
      expect(problemOf(text)).toContain('it must be one JSON object');
  });

  it('drops everything that PostgreSQL cannot store', () => {
    expect(read('{"goal": "a\\u0000b\\ud800c", "steps": []}')).toMatchObject({ goal: 'a\ufffdb\ufffdc' });
  });

  it('may omit texts that are only displayed, and truncates those that are too long', () => {
    const planned = read({ goal: letters(501), approval_reasons: null, steps: [note('N', { delay_minutes: null })] });
    expect(planned).toMatchObject({ goal: letters(500), rationale: '', approvalReasons: [] });
    expect(planned).toMatchObject({ steps: [{ title: 'Add a note to the deal', reason: '', delayMinutes: 0 }] });
  });
});

describe('limits of a completion', () => {
  it.each([
    ['10 steps', planOf(...Array.from({ length: 10 }, () => note('N')))],
    ['a message of 4,096 characters', planOf(message(letters(4_096)))],
    ['as many characters outside of the basic plane', planOf(message('🙂'.repeat(4_096)))],
    ['a note of 2,000', planOf(note(letters(2_000)))],
    ['a goal of 500', planOf(followUp(1, letters(500)))],
    ['a delay of 30 days', planOf(note('N', { delay_minutes: 43_200 }))],
  ])('accepts %s', (_, completion) => {
    expect(problemOf(completion)).toBeUndefined();
  });

  it.each([
    ['11 steps', planOf(...Array.from({ length: 11 }, () => note('N'))), 'steps must be a list of at most 10 steps'],
    ['a message of 4,097', planOf(message(letters(4_097))), 'steps[0].params.body'],
    ['a note of 2,001', planOf(note('N'), note(letters(2_001))), 'steps[1].params.body'],
    ['a goal of 501', planOf(followUp(1, letters(501))), 'steps[0].params.goal'],
    ['a follow-up at once', planOf(followUp(0)), 'steps[0].delay_minutes must be at least 1'],
    ['a delay of more than 30 days', planOf(note('N', { delay_minutes: 43_201 })), 'steps[0].delay_minutes'],
    ['a delay into the past', planOf(note('N', { delay_minutes: -1 })), 'steps[0].delay_minutes'],
    ['half a minute', planOf(note('N', { delay_minutes: 0.5 })), 'steps[0].delay_minutes'],
  ])('refuses %s and says which', (_, completion, problem) => {
    expect(problemOf(completion)).toContain(problem);
  });
});

describe('an action', () => {
  it('is refused if it is switched off', () => {
    const agent = { ...documentOf().agent, actions: ['add_note' as const] };
    expect(problemOf(planOf(note('N')), { agent })).toBeUndefined();
    expect(problemOf(planOf(message('Hello')), { agent })).toContain('one that is switched on: add_note');
  });

  it('on a deal is refused if there is no deal', () => {
    expect(problemOf(planOf(note('N')), { deal: null })).toContain('steps[0].action must not be add_note');
    expect(problemOf(planOf(move(1)), { deal: null })).toContain('steps[0].action must not be move_stage');
  });

  it("moves only to a stage of the deal's pipeline", () => {
    expect(read(planOf(move(12)))).toMatchObject({ steps: [{ params: { stage: 12 }, detail: 'Won over' }] });
    expect(problemOf(planOf(move(13)))).toContain("a stage of the deal's pipeline: 11 (New), 12 (Won over)");
    expect(problemOf(planOf(move('12')))).toContain('steps[0].params.stage');
  });

  it('follows up at most once per plan', () => {
    expect(problemOf(planOf(followUp(1), note('N')))).toBeUndefined();
    expect(problemOf(planOf(followUp(1), note('N'), followUp(2)))).toMatch(/^steps must have at most 1 follow_up/);
  });

  it('follows up after nine earlier follow-ups, but not after ten', () => {
    expect(problemOf(planOf(followUp(1)), {}, maxFollowUps - 1)).toBeUndefined();
    expect(problemOf(planOf(followUp(1)), {}, maxFollowUps)).toContain('must not be follow_up');
  });
});

describe('the channel of a message', () => {
  const sms = message('Hello', { channel: 'sms' });
  const manual = { kind: 'manual' as const, channel: null, text: 'Say hello' };

  it("is by default the customer's channel, which is then locked", () => {
    const planned = read(planOf(message('Hello'), sms));
    expect(planned).toMatchObject({
      steps: [
        { params: { channel: 'whatsapp', channel_locked: true }, detail: 'whatsapp', editable: ['body'] },
        { params: { channel: 'sms', channel_locked: false }, detail: 'sms', editable: ['body', 'channel'] },
      ],
    });
  });

  it('is by default the first that reaches the contact if the contact has not written', () => {
    const contact = { ...documentOf().contact, channels: ['email' as const] };
    expect(read(planOf(message('Hello')), { trigger: manual, contact })).toMatchObject({
      steps: [{ params: { channel: 'email', channel_locked: false }, editable: ['body', 'channel'] }],
    });
  });

  it("is another one if the customer's channel is no longer set up", () => {
    const contact = { ...documentOf().contact, channels: ['sms' as const] };
    expect(read(planOf(message('Hello')), { contact })).toMatchObject({
      steps: [{ params: { channel: 'sms', channel_locked: false } }],
    });
  });

  it('must reach the contact', () => {
    expect(problemOf(planOf(message('Hello', { channel: 'email' })))).toContain('whatsapp, sms');
    expect(problemOf(planOf(message('Hello', { channel: 'fax' })))).toContain('steps[0].params.channel');
    const contact = { ...documentOf().contact, channels: [] };
    expect(problemOf(planOf(sms), { trigger: manual, contact })).toContain('there is none');
  });
});

describe('an FAQ with answer_exactly', () => {
  const id = '019ab000-0000-7000-8000-000000000001';
  const source = { id, title: 'When do you open?', kind: 'faq' as const };
  const exact = { source, headings: [], text: 'At 9.\n', exact: true };
  const quoted = message('', { body: null, answer: id });

  it('is quoted word for word and cannot be edited', () => {
    expect(read(planOf(quoted), { passages: [exact] })).toMatchObject({
      steps: [{ params: { channel: 'whatsapp', body: 'At 9.\n' }, editable: [] }],
    });
  });

  it("replaces the AI's own text if it is the best passage", () => {
    const own = planOf(message('At 9, roughly'), message('Anything else?'));
    const planned = read(own, { passages: [exact] });
    expect(planned).toMatchObject({
      steps: [{ params: { body: 'At 9.\n' } }, { params: { body: 'Anything else?' } }],
    });
    const other = { ...exact, exact: false };
    expect(read(own, { passages: [other, exact] })).toMatchObject({
      steps: [{ params: { body: 'At 9, roughly' } }, {}],
    });
  });

  it('must be an exact passage of the document', () => {
    expect(problemOf(planOf(quoted), { passages: [{ ...exact, exact: false }] })).toContain('steps[0].params.answer');
    expect(problemOf(planOf(quoted), { passages: [] })).toContain('there is none');
  });
});
