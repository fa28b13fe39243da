import { expect, it } from '@jest/globals';
import { TemplatesChange } from './templates.ts';

const change = (body: string) => TemplatesChange.safeParse({ appointment_booked: { body } });

it('accepts known placeholders with any spacing, and braces that are no placeholders', () => {
  for (const body of ['{{title}}', '{{ title\t}}', '{{{title}}}', '{{ti{tle}}', '{{', '}}', '{{title', 'a } b { c']) {
    expect(change(body).success).toBe(true);
  }
});

it('refuses unknown placeholders, and names the first', () => {
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
  // A quadratic scan of these texts takes minutes, so that the runner's timeout ends this test.
  for (const body of ['{{', ' ', '{{ ', '{{}', '{ { ']) {
    expect(change(body.repeat(4_096 / body.length)).success).toBe(true);
    expect(change(`{{${body.repeat(1_000_000)}`).error?.issues[0]?.message).toContain('4096 characters');
  }
});
