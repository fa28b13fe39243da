import type { AccountContext } from '@customer-platform/contracts/core';

/** Start of a test message, followed by the account's name, by language. */
const beginnings: Record<string, string> = {
  en: 'This is a test message from',
  de: 'Das ist eine Testnachricht von',
  fr: 'Ceci est un message de test de',
  es: 'Este es un mensaje de prueba de',
  it: 'Questo è un messaggio di prova di',
  nl: 'Dit is een testbericht van',
};

/** Returns the text of a test message in the account's language, or in English if there is no translation. */
export function testText({ name, language }: Pick<AccountContext, 'name' | 'language'>): {
  subject: string;
  body: string;
} {
  const subject = `${beginnings[language.split('-', 1)[0]!] ?? beginnings.en} ${name}`;
  return { subject, body: `${subject}.` };
}
