import { expect, it } from '@jest/globals';
import { ClientGone } from '../../fairness/fair-permits.ts';
import { WorkMeter } from '../../fairness/work-meter.ts';
import { type ArrivedBody, parsedBody } from './parsed-body.ts';

/** A meter by whose clock every piece of work takes an hour, and its owner rests for as long. */
function dearMeter(): WorkMeter {
  let nowMs = 0;
  return new WorkMeter({ freeMs: 0, restRatio: 1 }, () => {
    nowMs += 3_600_000;
    return nowMs;
  });
}

const large = { bytes: 1_048_576, owner: 'ada', response: { closed: false } };
const body = { name: 'Ada' };

/** Notes the bodies that are parsed, each by its name. */
function parser() {
  const parsed: string[] = [];
  const named = (name: string) => () => {
    parsed.push(name);
    return { name };
  };
  return { parsed, named };
}

it('a large body waits for those of its owner that were dear, and for nobody else', async () => {
  const meter = dearMeter();
  const { parsed, named } = parser();
  const arrive = (name: string, given: Partial<ArrivedBody> = {}) =>
    parsedBody(named(name), { ...large, ...given }, meter);
  expect((await arrive('first'))()).toEqual({ name: 'first' });
  let isWaiting = true;
  const second = arrive('second').finally(() => {
    isWaiting = false;
  });
  // It rests for an hour, and is refused before that: after the test.
  second.catch(() => undefined);
  expect((await arrive('of another', { owner: 'bo' }))()).toEqual({ name: 'of another' });
  expect((await arrive('small', { bytes: 2_047 }))()).toEqual({ name: 'small' });
  expect(parsed).toEqual(['first', 'of another', 'small']);
  expect(isWaiting).toBe(true);
});

it('is parsed once, however often it is asked for, and says what is wrong with it only then', async () => {
  const { parsed, named } = parser();
  const given = await parsedBody(named('once'), large, dearMeter());
  expect([given(), given()]).toEqual([{ name: 'once' }, { name: 'once' }]);
  expect(parsed).toEqual(['once']);
  const wrong = new Error('body must be valid JSON');
  const fail = await parsedBody(
    () => {
      throw wrong;
    },
    large,
    dearMeter(),
  );
  expect(fail).toThrow(wrong);
});

it('is not parsed where the client went away meanwhile', async () => {
  await expect(parsedBody(() => body, { ...large, response: { closed: true } }, dearMeter())).rejects.toThrow(
    ClientGone,
  );
});
