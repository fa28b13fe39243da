import { expect, it } from '@jest/globals';
import { TemplatesChange } from './templates.ts';

const change = (body: string) => TemplatesChange.safeParse({ appointment_booked: { body } });

it('takes placeholders that there are, however they are spaced, and braces that are none', () => {
  for (const body of ['{{title}}', '{{ title\t}}', '{{{title}}}', '{{ti{tle}}', '{{', '}}', '{{title', 'a } b { c']) {
    expect(change(body).success).toBe(true);
  }
});

it('refuses placeholders that there are not, and names the first', () => {
  for (const [body, name] of [
    ['{{Title}}', '{{Title}}'],
    ['{{}}', '{{}}'],
    ['{{title}} {{ two words }} {{x}}', '{{ two words }}'],
    ['{{ {{other}}', '{{other}}'],
  ] as const) {
    expect(change(body).error?.issues[0]?.message).toContain(`not ${name}`);
  }
});

it('reads each character of a hostile text a bounded number of times', () => {
  // A quadratic reading of these takes minutes: what ends this test is the runner's own limit.
  for (const body of ['{{', ' ', '{{ ', '{{}', '{ { ']) {
    expect(change(body.repeat(4_096 / body.length)).success).toBe(true);
    expect(change(`{{${body.repeat(1_000_000)}`).error?.issues[0]?.message).toContain('4096 characters');
  }
});
