import { describe, expect, it } from '@jest/globals';
import { decodedPage, decodedText } from './decode.ts';

/** Labels, bytes in hexadecimal, and the decoded text. */
const encoded: [label: string, hex: string, text: string][] = [
  ['Shift_JIS', '968893fa8740816089638bc6', '毎日①～営業'],
  ['EUC-JP', 'cbe8c6fcb1c4b6c8', '毎日営業'],
  ['ISO-2022-JP', '1b24424b68467c314436481b2842', '毎日営業'],
  ['GB18030', 'c3bfccecd3aad2b58139ee39', '每天营业㐀'],
  ['gb2312', 'c3bfccecd3aad2b5', '每天营业'],
  ['Big5', 'a843a4d1c0e7b77e9def', '每天營業嘅'],
  ['EUC-KR', '8c63b9e6b0a2c7cf20b8c5c0cf', '똠방각하 매일'],
  ['windows-874', 'e0bbd4b4b7d8a1c7d1b9', 'เปิดทุกวัน'],
  ['windows-1251', 'cef2eaf0fbf2ee', 'Открыто'],
  ['windows-1253', 'c1edefe9f7f4dc', 'Ανοιχτά'],
  ['windows-1254', '41e7fdf0fd7a20fe696d6469', 'Açığız şimdi'],
  ['ISO-8859-9', '41e7fdf0fd7a20fe696d6469', 'Açığız şimdi'],
  ['windows-1255', 'f4fae5e720ebec20e9e5ed', 'פתוח כל יום'],
  ['windows-1256', 'e3ddcae6cd20ede6e3edc7', 'مفتوح يوميا'],
  ['windows-1258', '4769f5cc', 'Gi\u01a1\u0300'],
  ['ISO-8859-1', '4765f666666e6574209620352080', 'Geöffnet – 5 €'],
  ['UTF-8', 'e19e94e19ebee19e80', 'បើក'],
];

const page = (head: string, hex: string) =>
  Buffer.concat([Buffer.from(`${head}<p>`), Buffer.from(hex, 'hex'), Buffer.from('</p>')]);
const textOf = (bytes: Buffer, charset?: string) => decodedPage(bytes, charset).split('<p>')[1]!.split('</p>')[0];

describe('a web page is read in the encoding', () => {
  it.each(encoded)('%s that its header, its meta elements or its XML declaration names', (label, hex, text) => {
    const heads = [
      `<meta charset="${label}">`,
      `<!DOCTYPE html><html><head><title>A</title><META http-equiv='Content-Type' content='text/html; charset=${label}'>`,
      `<meta content="text/html;charset=${label}" http-equiv=content-type>`,
      `<?xml version="1.0" encoding='${label}'?><html xmlns="http://www.w3.org/1999/xhtml">`,
      `<!-- <meta charset="koi8-r"> --><script src=a></script>\n${' '.repeat(3_000)}<meta charset=${label.toLowerCase()} />`,
      `<meta charset="klingon"><meta charset="${label}">`,
    ];
    for (const head of heads) expect([head, textOf(page(head, hex))]).toEqual([head, text]);
    expect(textOf(page('<meta charset=koi8-r>', hex), label)).toBe(text);
  });

  const utf8 = Buffer.from('ありがとう ខ្មែរ').toString('hex');
  it.each<[string, Buffer, string | undefined, string]>([
    [
      'of its byte order mark, which overrides declarations',
      page('\ufeff<meta charset=big5>', utf8),
      'big5',
      'ありがとう ខ្មែរ',
    ],
    ['of its byte order mark in UTF-16', Buffer.from('\ufeff<p>नमस्ते</p>', 'utf16le'), 'utf-8', 'नमस्ते'],
    ['UTF-8 if a meta element says UTF-16', page('<meta charset=utf-16>', utf8), undefined, 'ありがとう ខ្មែរ'],
    ['windows-1252 for x-user-defined', page('<meta charset=x-user-defined>', '80'), undefined, '€'],
    ['of its bytes if its labels are unknown', page('<meta charset=klingon>', utf8), 'klingon', 'ありがとう ខ្មែរ'],
    ['UTF-8 if it declares none', page('<meta name=a content="charset">', utf8), undefined, 'ありがとう ខ្មែរ'],
    ['UTF-8 also with a NUL', page('', `${utf8}00`), undefined, 'ありがとう ខ្មែរ\0'],
    ['windows-1252 if it declares none and is not UTF-8', page('', '9347fcf1e71e949d'), undefined, '“Güñç\x1e”\x9d'],
    [
      'of its bytes if only a comment names another',
      page('<!-- charset=big5 --><!--<meta charset=big5>', utf8),
      undefined,
      'ありがとう ខ្មែរ',
    ],
    [
      'UTF-16 that it is in without a mark',
      Buffer.from('<!doctype html><p>Merhaba</p>', 'utf16le').swap16(),
      undefined,
      'Merhaba',
    ],
  ])('%s', (_, bytes, charset, text) => {
    expect(textOf(bytes, charset)).toBe(text);
  });

  it('if it is supported, and is refused otherwise', () => {
    expect(() => decodedPage(Buffer.from('<p>a'), 'iso-2022-kr')).toThrow('Its encoding is not supported');
  });
});

describe('plain text', () => {
  const texts = [
    'Hello, world',
    'Öffnungszeiten: täglich',
    '営業時間は\n一日中です。',
    '我们每天营业。\n',
    '매일 영업합니다',
    'เปิด 24 ชั่วโมง',
    'ភាសា ខ្មែរ',
    'Açığız şimdi',
    'مفتوح يوميا',
    'פתוח כל יום',
    'हम रोज़ खुले हैं',
    'Giờ mở cửa',
  ];
  it.each(texts)('%j is read in UTF-8 and UTF-16, with and without a byte order mark', (text) => {
    for (const marked of [text, `\ufeff${text}`]) {
      const little = Buffer.from(marked, 'utf16le');
      for (const bytes of [Buffer.from(marked), little, Buffer.from(little).swap16()])
        expect([bytes.toString('hex'), decodedText(bytes)]).toEqual([bytes.toString('hex'), text]);
    }
  });

  it("is read in windows-1252 and in the header's charset, and refused if it is not text", () => {
    expect(decodedText(Buffer.from('803520fc', 'hex'))).toBe('€5 ü');
    for (const [label, hex, text] of encoded) expect(decodedText(Buffer.from(hex, 'hex'), label)).toBe(text);
    for (const hex of ['89504e470d0a1a0a', '968893fa8140', 'ff0089ab'])
      expect(() => decodedText(Buffer.from(hex, 'hex'))).toThrow('not text in UTF-8, UTF-16 or windows-1252');
  });
});
