import { describe, expect, it } from '@jest/globals';
import { AdminTokens } from './admin-tokens.ts';

const token = (letter: string) => letter.repeat(32);

describe('admin tokens', () => {
  it('have the names of their holders, which is admin for ADMIN_TOKEN', () => {
    const tokens = new AdminTokens({ ADMIN_TOKEN: token('a'), ADMIN_TOKENS: `anna:${token('b')}, ben:${token('c')}` });
    expect(['a', 'b', 'c', 'd'].map((letter) => tokens.actorOf(token(letter)))).toEqual([
      'admin',
      'anna',
      'ben',
      undefined,
    ]);
  });

  it.each([
    [{}, 'ADMIN_TOKEN or ADMIN_TOKENS must be set'],
    [{ ADMIN_TOKEN: 'short' }, 'ADMIN_TOKEN: the token must have at least 32 characters'],
    [{ ADMIN_TOKENS: `anna:${'x'.repeat(31)}` }, 'ADMIN_TOKENS, anna: the token must have at least 32 characters'],
    [
      { ADMIN_TOKENS: `anna:${token('a')},ben` },
      'ADMIN_TOKENS, entry 2: must be a name and a token, such as anna:<token>',
    ],
    [{ ADMIN_TOKENS: `anna:${token('a')},anna:${token('b')}` }, 'ADMIN_TOKENS, anna: the name must be unique'],
    [{ ADMIN_TOKENS: `anna:${token('a')},ben:${token('a')}` }, 'ADMIN_TOKENS, ben: the token must be unique'],
    [{ ADMIN_TOKEN: token('a'), ADMIN_TOKENS: `admin:${token('b')}` }, 'ADMIN_TOKENS, admin: the name must be unique'],
  ])('report what is wrong with %j', (settings, message) => {
    expect(() => new AdminTokens(settings)).toThrow(message);
  });
});
