import type { AudienceRules, Condition, NestedRules } from '@customer-platform/contracts/cdp';
import { dayMs } from '@customer-platform/service-kit';
import { type Bind, fieldTest, type Value } from './field-test.ts';
import { leavesOf } from './rules.ts';

/** Contacts and instant that rules are evaluated for. */
export interface Scope {
  accountId: string;
  /** The account's country, for phone numbers without a country code. */
  country: string;
  now: Date;
  /** Only these contacts; all contacts of the account if omitted. */
  contactIds?: readonly string[] | undefined;
}

/** Rules as parts of one statement; all values are bound, in the order of `values`. */
export interface CompiledRules {
  /** The contacts `c` to evaluate, each with at most one row of facts. They are of the account, not merged, and in `contactIds` if given. */
  from: string;
  /** True for a row of `from` that meets the rules; never null. */
  holds: string;
  /** The same for each condition, in the order of the rules. */
  conditions: string[];
  /** Number of GROUP BY steps, one per event name. Each uses memory of its own. */
  groupings: number;
  values: Value[];
  bind: Bind;
}

/** Up to so many conditions on fields, expanding the compressed fields for each condition is cheaper than expanding them once. */
const fewFieldConditions = 8;

type EventQuestion = Pick<Extract<Condition, { type: 'event' }>, 'name' | 'days' | 'at_least'>;
type ConsentQuestion = Pick<Extract<Condition, { type: 'consent' }>, 'channel' | 'purpose'>;

/**
 * Compiles rules to SQL with a fixed number of set operations, however many contacts there are. Each question about events and consents is a bit. The
 * events of a contact with one name are read once for all questions about that name. The bits of a contact are combined into one row, which is
 * joined. Pure. Everything is bound, except names of tables and columns.
 */
export function compileRules(rules: AudienceRules, scope: Scope): CompiledRules {
  const binding = bindingsOf(scope);
  const { bind } = binding;
  const questions = new Map<string, EventQuestion | ConsentQuestion>();
  const isHeld = (question: EventQuestion | ConsentQuestion) => {
    const key = JSON.stringify(question);
    questions.set(key, question);
    return `coalesce(get_bit(c.held, ${[...questions.keys()].indexOf(key)}) = 1, false)`;
  };
  const test = (condition: Condition): string => {
    switch (condition.type) {
      case 'event': {
        const { name, days, at_least, op } = condition;
        return `${op === 'did' ? '' : 'not '}${isHeld({ name, days, at_least })}`;
      }
      case 'consent': {
        const { channel, purpose, op } = condition;
        return `${op === 'granted' ? '' : 'not '}${isHeld({ channel, purpose })}`;
      }
      case 'tag': {
        const has = `${bind(condition.tag, 'text')} = any(c.tags)`;
        return condition.op === 'has' ? has : `not (${has})`;
      }
      case 'field':
        return fieldTest(condition, scope.country, bind);
    }
  };
  const conditions = rules.conditions.map((item) =>
    'conditions' in item ? joined(item, item.conditions.map(test)) : test(item),
  );
  const asked = [...questions.values()];
  return {
    from: candidates(rules, scope, joinKnown(asked, binding)),
    holds: joined(rules, conditions),
    conditions,
    groupings: new Set(asked.flatMap((question) => ('name' in question ? question.name : []))).size,
    values: binding.values,
    bind,
  };
}

/**
 * Returns the contacts to evaluate, joined with their events and consents. Large `fields` are stored compressed, and each condition expands them. For
 * many conditions, the concatenation expands them once per contact (50 times as fast for 400), in a subquery that `offset 0` keeps separate. It
 * follows the join, which may spill to disk. For few it is omitted, because it prevents a parallel scan.
 */
function candidates(rules: AudienceRules, { contactIds }: Scope, known: { join: string; held: string }): string {
  const expandsOnce = leavesOf(rules).filter(({ type }) => type === 'field').length > fewFieldConditions;
  return `
    (select id, name, phone, email, external_id, tags, ${expandsOnce ? "fields || '{}'::jsonb as fields" : 'fields'}${known.held}
     from contacts${known.join}
     where account_id = $1 and merged_into is null${contactIds ? ' and id = any($2)' : ''}${expandsOnce ? ' offset 0' : ''}) c`;
}

/**
 * Returns the join of `known`, and the columns that are selected from it. `known` has a row per contact with relevant events or consents; bit n of
 * `held` answers question n.
 */
function joinKnown(questions: (EventQuestion | ConsentQuestion)[], { bind, scoped, since }: Binding) {
  if (questions.length === 0) return { join: '', held: '' };
  const none = `0::bit(${questions.length})`;
  const places = questions.map((question, place) => ({ ...question, bit: `set_bit(${none}, ${place}, 1)` }));
  const consents = places.filter((question) => 'channel' in question);
  const events = Map.groupBy(
    places.filter((question) => 'name' in question),
    ({ name }) => name,
  );
  const selects = [
    ...consents.map(({ channel, purpose, bit }) => {
      const about = `channel = ${bind(channel, 'text')} and purpose = ${bind(purpose, 'text')} and state = 'granted'`;
      return `select contact_id, ${bit} as held from consent_states where ${scoped} and ${about}`;
    }),
    ...[...events].map(([name, asked]) => {
      const widest = asked.some(({ days }) => days === null) ? null : Math.max(...asked.map(({ days }) => days!));
      const held = asked.map(({ days, at_least, bit }) => {
        const within = days === widest ? '' : ` filter (where at > ${since(days!)})`;
        return `case when count(*)${within} >= ${bind(at_least, 'integer')} then ${bit} else ${none} end`;
      });
      const window = widest === null ? '' : ` and at > ${since(widest)}`;
      const about = `${scoped} and name = ${bind(name, 'text')}${window}`;
      return `select contact_id, ${held.join(' | ')} as held from contact_events where ${about} group by contact_id`;
    }),
  ];
  const join = `
    left join (select contact_id, bit_or(held) as held from (${selects.join('\nunion all\n')}) as each group by contact_id) as known
      on known.contact_id = id`;
  return { join, held: ', held' };
}

/**
 * Returns a statement that selects per contact when an event condition next ends because time passes: `contact_id`, `due_at`. For `at_least` n, the
 * n-th latest event decides. Undefined if no condition has a window.
 */
export function compileReevaluations(rules: AudienceRules, scope: Scope) {
  const { scoped, since, bind, values } = bindingsOf(scope);
  const windowed = leavesOf(rules).flatMap((leaf) =>
    leaf.type === 'event' && leaf.days !== null ? [{ ...leaf, days: leaf.days }] : [],
  );
  if (windowed.length === 0) return undefined;
  const selects = [...Map.groupBy(windowed, ({ name }) => name)].map(([name, asked]) => {
    const ends = asked.map(({ days, at_least }) => {
      const nth = at_least === 1 ? '' : ` and place = ${bind(at_least, 'integer')}`;
      return `max(at) filter (where at > ${since(days)}${nth}) + make_interval(secs => 86400 * ${bind(days, 'integer')})`;
    });
    const widest = since(Math.max(...asked.map(({ days }) => days)));
    const events = `contact_events where ${scoped} and name = ${bind(name, 'text')} and at > ${widest}`;
    const isPlaced = asked.some(({ at_least }) => at_least > 1);
    const placed = `(select contact_id, at, row_number() over (partition by contact_id order by at desc) as place from ${events}) as e`;
    return `select contact_id, least(${ends.join(', ')}) as due_at from ${isPlaced ? placed : events} group by contact_id`;
  });
  const select = `select contact_id, min(due_at) as due_at from (${selects.join('\nunion all\n')}) as each
    where due_at is not null group by contact_id`;
  return { select, groupings: selects.length, values, bind };
}

type Binding = ReturnType<typeof bindingsOf>;

/** Starts the values of a statement: $1 is the account, and $2 the contacts, if given. */
function bindingsOf({ accountId, now, contactIds }: Scope) {
  const values: Value[] = [];
  const bind: Bind = (value, type) => `$${values.push(value)}::${type}`;
  const only = (ids: readonly string[]) => ` and contact_id = any(${bind(ids, 'uuid[]')})`;
  return {
    values,
    bind,
    /** Condition for rows of the account, and of the contacts if given. */
    scoped: `account_id = ${bind(accountId, 'uuid')}${contactIds ? only(contactIds) : ''}`,
    /** Binds the instant at which a window of `days` begins; the instant itself is excluded. */
    since: (days: number) => bind(new Date(now.getTime() - days * dayMs), 'timestamptz'),
  };
}

function joined({ match }: Pick<NestedRules, 'match'>, tests: string[]): string {
  return `(${tests.join(match === 'all' ? ' and ' : ' or ')})`;
}
