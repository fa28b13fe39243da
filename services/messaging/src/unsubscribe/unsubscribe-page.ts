import { createHash } from 'node:crypto';

/** Texts of the page in one language. `{name}` is the account's name. */
interface PageTexts {
  title: string;
  question: string;
  button: string;
  done: string;
}

const texts: Record<string, PageTexts> = {
  en: {
    title: 'Unsubscribe',
    question: 'Do you want to stop getting advertising by email from {name}?',
    button: 'Unsubscribe',
    done: 'You are unsubscribed. You will get no more advertising by email from {name}.',
  },
  de: {
    title: 'Abmelden',
    question: 'Möchten Sie keine Werbung von {name} mehr per E-Mail erhalten?',
    button: 'Abmelden',
    done: 'Sie sind abgemeldet. Sie erhalten keine Werbung von {name} mehr per E-Mail.',
  },
  fr: {
    title: 'Se désabonner',
    question: 'Souhaitez-vous ne plus recevoir de publicité de {name} par e-mail ?',
    button: 'Me désabonner',
    done: 'Vous êtes désabonné. Vous ne recevrez plus de publicité de {name} par e-mail.',
  },
  es: {
    title: 'Darse de baja',
    question: '¿Desea dejar de recibir publicidad de {name} por correo electrónico?',
    button: 'Darme de baja',
    done: 'Se ha dado de baja. Ya no recibirá publicidad de {name} por correo electrónico.',
  },
  it: {
    title: 'Annulla l’iscrizione',
    question: 'Desidera non ricevere più pubblicità da {name} via e-mail?',
    button: 'Annulla l’iscrizione',
    done: 'L’iscrizione è annullata. Non riceverà più pubblicità da {name} via e-mail.',
  },
  nl: {
    title: 'Afmelden',
    question: 'Wilt u geen reclame van {name} meer per e-mail ontvangen?',
    button: 'Afmelden',
    done: 'U bent afgemeld. U ontvangt geen reclame van {name} meer per e-mail.',
  },
};

const invalid = {
  title: 'This link is not valid',
  text: 'Open the link as it is in the email, or write to its sender to unsubscribe.',
};

const style =
  ':root{color-scheme:light dark;font:1.125rem/1.5 system-ui,sans-serif}body{margin:0}main{max-width:34rem;margin:0 auto;padding:2rem 1.25rem;overflow-wrap:anywhere}' +
  'h1{font-size:1.5rem;line-height:1.2}button{font:inherit;font-weight:600;padding:.75rem 1.5rem;min-height:3rem;border:0;border-radius:.5rem;background:#1d4ed8;color:#fff;cursor:pointer}';

/** The page loads nothing, runs no scripts, cannot be framed and posts only to its host. Its URL, with the token, is never a referrer. */
export const pageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'Referrer-Policy': 'no-referrer',
};

/** The fields of an account that the page shows. */
export interface PageAccount {
  name: string;
  /** Language of the page, such as de or de-AT. English if there is no translation. */
  language: string;
}

/** Returns the page with the question, or with the confirmation. */
export function unsubscribePage({ name, language }: PageAccount, isDone: boolean): string {
  const code = language.split('-', 1)[0]!;
  const isKnown = Object.hasOwn(texts, code);
  const { title, question, button, done } = texts[isKnown ? code : 'en']!;
  const text = (isDone ? done : question).replace('{name}', () => name);
  // Without an action, the form posts to the page's own URL.
  const form = isDone ? '' : `<form method="post"><button>${escaped(button)}</button></form>`;
  return pageOf({ language: isKnown ? code : 'en', title, text }, form);
}

/** Returns the page for an invalid link, in English because the account is unknown. */
export function invalidLinkPage(): string {
  return pageOf({ language: 'en', ...invalid }, '');
}

function pageOf({ language, title, text }: { language: string; title: string; text: string }, form: string): string {
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>${escaped(title)}</title><style>${style}</style></head>
<body><main><h1>${escaped(title)}</h1><p>${escaped(text)}</p>${form}</main></body>
</html>
`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}
