import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  approve,
  approveStep,
  cancel,
  type Decided,
  endStep,
  hasEnded,
  lapse,
  type PlanState,
  refusalOfChange,
  reject,
  rejectStep,
  type StepState,
  startNext,
} from './plan-state.ts';

const start = new Date('2026-06-01T08:00:00Z');
const at = (seconds: number) => new Date(start.getTime() + seconds * 1_000);
const modes = ['plan', 'step', 'none'] as const;
type Mode = (typeof modes)[number];

/** Returns a plan as the planner writes it. It expires after 100 s, and its steps are due 1 s apart. */
function planned(mode: Mode, count: number): PlanState {
  const steps = Array.from({ length: count }, (_, index): StepState => {
    const status = mode === 'step' ? 'awaiting_approval' : 'pending';
    const delay_minutes = index % 2 === 1 ? null : index;
    return { status, delay_minutes, run_at: at(index), due_at: null, result: null };
  });
  const isAwaiting = mode !== 'none';
  const plan: PlanState = {
    status: isAwaiting ? 'awaiting_approval' : 'running',
    approval_mode: mode,
    planning_due_at: null,
    lapses_at: isAwaiting ? at(100) : null,
    decided_by: null,
    decision_note: null,
    last_error: null,
    steps,
  };
  startNext(plan, start);
  return plan;
}

/** Starts due steps of running plans, as a claim does. */
function claim(plan: PlanState, now: Date): StepState | undefined {
  const due = plan.steps.find(({ due_at, status }) => due_at !== null && due_at <= now && status === 'pending');
  if (due) due.status = 'running';
  return due;
}

const kinds = ['approve', 'reject', 'cancel', 'approveStep', 'rejectStep', 'lapse', 'claim', 'end', 'fail'] as const;
const action = fc.record({
  kind: fc.constantFrom(...kinds),
  step: fc.integer({ min: 0, max: 3 }),
  waits: fc.constantFrom(0, 1, 5, 60),
});
type Action = { kind: (typeof kinds)[number]; step: number; waits: number };
const stories = fc.array(action, { maxLength: 30 });

/** Applies random actions to a plan and checks its invariants. */
class Story {
  readonly plan: PlanState;
  readonly became: string[] = [];
  readonly ran: StepState[] = [];
  wasApproved = false;
  readonly #approved = new Set<StepState>();
  #seconds = 0;

  constructor(mode: Mode, steps: number) {
    this.plan = planned(mode, steps);
    if (mode === 'none') for (const step of this.plan.steps) this.#approved.add(step);
  }

  get now(): Date {
    return at(this.#seconds);
  }

  tell({ kind, step, waits }: Action): void {
    this.#seconds += waits;
    const { plan, now } = this;
    const one = plan.steps[step % plan.steps.length]!;
    const decision = { by: 'api', note: kind, now };
    const before = JSON.stringify(plan);
    const undecided = plan.steps.filter(({ status }) => status === 'awaiting_approval' || status === 'pending');
    if (kind === 'approve') this.#take(approve(plan, decision), before, undecided);
    else if (kind === 'approveStep') this.#take(approveStep(plan, one, decision), before, [one]);
    else if (kind === 'reject') this.#take(reject(plan, decision), before);
    else if (kind === 'rejectStep') this.#take(rejectStep(plan, one, decision), before);
    else if (kind === 'cancel') this.#take(cancel(plan, decision), before);
    else if (kind === 'lapse') this.#note(lapse(plan, now));
    else if (kind === 'claim') this.#claim();
    else {
      const running = plan.steps.find(({ status }) => status === 'running');
      const end = kind === 'end' ? { result: { message: 'm' } } : { error: 'no' };
      if (running) this.#note(endStep(plan, running, end, now));
    }
  }

  /** Runs the plan to its end without another decision. */
  finish(): void {
    this.tell({ kind: 'lapse', step: 0, waits: 200 });
    for (const _ of this.plan.steps) {
      this.tell({ kind: 'claim', step: 0, waits: 0 });
      this.tell({ kind: 'end', step: 0, waits: 0 });
    }
  }

  #claim(): void {
    const { plan, now } = this;
    const step = claim(plan, now);
    if (!step) return;
    this.ran.push(step);
    expect(plan.status).toBe('running');
    expect(this.#approved.has(step)).toBe(true);
    expect(now.getTime()).toBeGreaterThanOrEqual(step.run_at.getTime());
    expect(plan.steps.slice(0, plan.steps.indexOf(step)).every(hasEnded)).toBe(true);
  }

  #take(decided: Decided, before: string, approved: StepState[] = []): void {
    if ('refusal' in decided) {
      expect(JSON.stringify(this.plan)).toBe(before);
      return;
    }
    if (JSON.stringify(this.plan) !== before && approved.length > 0) {
      this.wasApproved = true;
      for (const step of approved) this.#approved.add(step);
    }
    this.#note(decided.became);
  }

  #note(became: string | undefined): void {
    if (became) this.became.push(became);
  }
}

describe('a plan with random actions', () => {
  it('runs no step that is undecided or out of order, reaches each outcome once, and ends', () => {
    fc.assert(
      fc.property(fc.constantFrom(...modes), fc.integer({ min: 1, max: 4 }), stories, (mode, count, actions) => {
        const story = new Story(mode, count);
        for (const one of actions) story.tell(one);
        story.finish();
        const { plan, became, ran } = story;
        expect(plan.status).toMatch(/^(completed|rejected|expired|cancelled|failed)$/);
        expect([plan.lapses_at, plan.planning_due_at]).toEqual([null, null]);
        expect(plan.steps.every(hasEnded)).toBe(true);
        expect(plan.steps.filter(({ due_at, status }) => due_at !== null && status !== 'running')).toEqual([]);
        expect(new Set(ran).size).toBe(ran.length);
        expect(new Set(became).size).toBe(became.length);
        expect(became.filter((kind) => kind !== 'approved')).toEqual(plan.status === 'cancelled' ? [] : [plan.status]);
        expect(became.includes('approved')).toBe(story.wasApproved);
        if (plan.status === 'rejected' || plan.status === 'expired') expect(ran).toEqual([]);
        if (plan.status === 'completed')
          expect(ran).toHaveLength(plan.steps.filter(({ status }) => status === 'done').length);
      }),
      { numRuns: 2_000 },
    );
  });

  it('accepts or refuses a repeated decision like the first one, and changes nothing', () => {
    const decisions = ['approve', 'reject', 'cancel'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...modes), fc.constantFrom(...decisions), stories, (mode, kind, actions) => {
        const story = new Story(mode, 3);
        for (const one of actions) story.tell(one);
        const decide = { approve, reject, cancel }[kind];
        const first = decide(story.plan, { by: 'api', note: 'first', now: story.now });
        const after = JSON.stringify(story.plan);
        const again = decide(story.plan, { by: 'api', note: 'again', now: story.now });
        expect('refusal' in again).toBe('refusal' in first);
        expect('became' in again).toBe(false);
        expect(JSON.stringify(story.plan)).toBe(after);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the deadline', () => {
  it('applies at its instant, not before', () => {
    for (const mode of ['plan', 'step'] as const) {
      const [early, late] = [planned(mode, 1), planned(mode, 1)];
      expect(lapse(early, at(99))).toBeUndefined();
      expect(approve(early, { by: 'api', note: undefined, now: at(99) })).toEqual({ became: 'approved' });
      expect(refusalOfChange(late, late.steps[0]!, at(99))).toBeUndefined();
      expect(refusalOfChange(late, late.steps[0]!, at(100))).toMatch(/in time/);
      for (const decide of [approve, reject, cancel])
        expect(decide(late, { by: 'api', note: undefined, now: at(100) })).toMatchObject({
          refusal: expect.any(String),
        });
      expect(lapse(late, at(100))).toBe('expired');
    }
  });

  it('skips undecided steps if steps are decided one by one, and approved steps run', () => {
    const plan = planned('step', 3);
    approveStep(plan, plan.steps[1]!, { by: 'api', note: undefined, now: at(1) });
    expect([plan.status, plan.steps[1]!.due_at]).toEqual(['running', null]);
    expect(lapse(plan, at(100))).toBeUndefined();
    expect(plan.steps.map(({ status }) => status)).toEqual(['skipped', 'pending', 'skipped']);
    expect(plan.steps[1]!.due_at).toEqual(at(100));
    for (const decide of [approveStep, rejectStep])
      expect(decide(plan, plan.steps[0]!, { by: 'api', note: undefined, now: at(101) })).toHaveProperty('refusal');
    expect(approve(plan, { by: 'api', note: undefined, now: at(101) })).toHaveProperty('refusal');
  });
});
