import type { Condition, NestedRules } from '@customer-platform/contracts/cdp';
import { dayMs } from '@customer-platform/service-kit';
import type { ContactRow } from '../contacts/contacts.sql.ts';
import type { Facts } from './facts.sql.ts';
import type { FieldCondition } from './field-test.ts';

/** Returns a sentence with the fact that decides a condition, and with the value that is needed. Pure. */
export function reasonOf(item: Condition | NestedRules, facts: Facts): string {
  if ('conditions' in item) {
    return `${item.match} of: ${item.conditions.map((condition) => `(${reasonOf(condition, facts)})`).join(', ')}`;
  }
  switch (item.type) {
    case 'event': {
      const { name, days, at_least, op } = item;
      const within = days === null ? '' : ` within ${counted(days, 'day')}`;
      const { last_at, times } = facts.did(item);
      const often = at_least > 1 ? `, ${times >= at_least ? 'at least ' : ''}${counted(times, 'time')}${within}` : '';
      const known = last_at ? `last seen ${facts.dayOf(last_at)}, ${ago(last_at, facts.now)}` : 'never seen';
      const need =
        op === 'did' ? `needed${more(at_least, 'at least')}` : `needed${more(at_least, 'fewer than', ' not')}`;
      return `${name} was ${known}${often}; ${need}${within || (at_least > 1 ? '' : op === 'did' ? ' once' : ' ever')}`;
    }
    case 'consent': {
      const { channel, purpose, op } = item;
      const said = facts.said(item);
      const known = said ? `was ${said.state} ${facts.dayOf(said.at)}` : 'was never granted or withdrawn';
      return `${purpose} on ${channel} ${known}; needed ${op === 'granted' ? 'granted' : 'not granted'}`;
    }
    case 'tag': {
      const { tag, op } = item;
      const has = facts.hasTag(tag) ? 'has' : 'does not have';
      return `the contact ${has} the tag ${tag}; needed ${op === 'has' ? 'with' : 'without'} it`;
    }
    case 'field': {
      const value = fieldOf(facts.contact, item.name);
      const known = value === undefined || value === '' ? 'not set' : JSON.stringify(value);
      return `${item.name} is ${known}; needed ${needed(item)}`;
    }
  }
}

function more(atLeast: number, words: string, else_ = ''): string {
  return atLeast > 1 ? ` ${words} ${atLeast} times` : else_;
}

const words = {
  is: 'to be',
  is_not: 'not to be',
  contains: 'to contain',
  starts_with: 'to start with',
  is_set: 'to be set',
  is_not_set: 'not to be set',
  gt: 'to be more than',
  gte: 'to be at least',
  lt: 'to be less than',
  lte: 'to be at most',
};

function needed({ op, value }: FieldCondition): string {
  return value === undefined ? words[op] : `${words[op]} ${JSON.stringify(value)}`;
}

function fieldOf(contact: ContactRow, name: string): string | number | boolean | undefined {
  if (name === 'name' || name === 'phone' || name === 'email' || name === 'external_id')
    return contact[name] ?? undefined;
  return Object.hasOwn(contact.fields, name) ? contact.fields[name] : undefined;
}

/** Returns the time since `at` in words, in whole days. */
function ago(at: Date, now: Date): string {
  const days = Math.floor((now.getTime() - at.getTime()) / dayMs);
  return days < 1 ? 'less than a day ago' : `${counted(days, 'day')} ago`;
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
