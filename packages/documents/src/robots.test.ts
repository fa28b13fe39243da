import { describe, expect, it } from '@jest/globals';
import { allowedBy } from './robots.ts';

const agent = 'customer-platform-reader';
const isAllowed = (robots: string | Buffer, path: string) =>
  allowedBy(Buffer.from(robots as string), {
    robotsUrl: 'https://shop.example/robots.txt',
    url: `https://shop.example${path}`,
    agent,
  });

it.each<[rule: string, stopped: string[], read: string[]]>([
  ['/sh%6Fp', ['/shop', '/sh%6fp', '/shop/1'], ['/sh%4Fp', '/sh']],
  ['/shop', ['/sh%6Fp', '/%73hop'], ['/SHOP']],
  ['/%7Eada%2dx%2ey%5Fz', ['/~ada-x.y_z'], []],
  ['/ツ', ['/%E3%83%84', '/%e3%83%84', '/ツ'], ['/%E3%83%85']],
  ['/%e3%83%84', ['/ツ', '/%E3%83%84'], []],
  ['/caf\u00e0', ['/caf%C3%A0', '/café/../cafà'], ['/cafe%CC%80']],
  ['/a%2Fb', ['/a%2fb'], ['/a/b']],
  ['/a/b', ['/a/b'], ['/a%2Fb']],
  ['/a?b=c%26d', ['/a?b=c%26d'], ['/a?b=c&d']],
  ["/a?b='c'", ["/a?b='c'", '/a?b=%27c%27'], []],
  ['/a[1]|{b}^`', ['/a[1]|{b}^`', '/a%5B1%5D%7C%7Bb%7D%5E%60'], []],
  ['/a b', ['/a b', '/a%20b'], ['/a+b']],
  ['/100%', ['/100%', '/100%25/x'], ['/100']],
  ['/*.pdf$', ['/a.pdf', '/a/b.pdf'], ['/a.pdf?x', '/a.pdfx', '/a.PDF']],
  ['/a*b', ['/ab', '/a/x/b/c', '/a*b'], ['/a']],
  ['/a%2Ab', ['/a*b', '/a%2ab'], ['/axb']],
  ['/a%24', ['/a$', '/a$b', '/a%24b'], ['/a']],
  ['/a$b', ['/a$b', '/a%24b'], ['/a']],
  ['/a$  # the page alone', ['/a'], ['/a/', '/a$']],
  ['', [], ['/', '/a']],
  ['a', [], ['/a']],
])('Disallow: %s stops %j and not %j', (rule, stopped, read) => {
  const robots = `User-agent: *\nDisallow: ${rule}\n`;
  expect(stopped.filter((path) => isAllowed(robots, path))).toEqual([]);
  expect(read.filter((path) => !isAllowed(robots, path))).toEqual([]);
});

describe('the rules that apply', () => {
  it.each<[string, string | Buffer, Record<string, boolean>]>([
    [
      'only the group for our agent',
      `User-agent: *\nDisallow: /\n\nUser-agent: ${agent}\nDisallow: /b`,
      { '/a': true, '/b': false },
    ],
    [
      'the longest',
      'User-agent: *\nDisallow: /b\nAllow: /b/c\nDisallow: /b/c/d',
      { '/b': false, '/b/c': true, '/b/c/d': false },
    ],
    [
      'the longest after normalization',
      'User-agent: *\nAllow: /%61%62%63\nDisallow: /abcd',
      { '/abc': true, '/abcd': false },
    ],
    ['the one that allows if two are equally long', 'User-agent: *\nDisallow: /%61\nAllow: /a', { '/a': true }],
    [
      'those of all groups for our agent',
      `User-agent: ${agent}\nDisallow: /a\n\nUser-agent: x\nDisallow: /c\n\nUser-agent: ${agent}\nDisallow: /b`,
      { '/a': false, '/b': false, '/c': true },
    ],
    [
      'a group with several agents',
      `User-agent: ${agent}\nSitemap: https://shop.example/s.xml\nUser-agent: x\nCrawl-delay: 1\n\nDisallow: /a`,
      { '/a': false },
    ],
    [
      'those for our agent in any case, with a version',
      `user-AGENT : Customer-Platform-READER/2.0 # us\ndisALLOW : /a`,
      { '/a': false, '/b': true },
    ],
    ['those after a byte order mark', '\ufeffUser-agent: *\nDisallow: /a', { '/a': false }],
    [
      'those with any line end',
      'User-agent: *\rDisallow: /a\r\nDisallow: /b\nDisallow: /c',
      { '/a': false, '/b': false, '/c': false, '/d': true },
    ],
    [
      'octets that are not UTF-8',
      Buffer.from('User-agent: *\nDisallow: /caf\xe9', 'latin1'),
      { '/caf%E9': false, '/café': true },
    ],
    ['none before the first group', 'Disallow: /\nUser-agent: *\nDisallow: /a', { '/a': false, '/b': true }],
    ['none from an HTML page', '<!doctype html><title>Not found</title>', { '/': true }],
  ])('%s', (_, robots, expected) => {
    const found = Object.keys(expected).map((path) => [path, isAllowed(robots, path)]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });
});
