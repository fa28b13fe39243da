import { type ReactNode, useEffect } from 'react';
import { environment, product } from '../platform.ts';

/** A page with its heading, actions and content. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = [title, environment, product].filter((part) => part !== '').join(' · ');
  }, [title]);
  return (
    <>
      <header className="page-head">
        <h1>{title}</h1>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

/** A list of named values. */
export function Facts({ facts }: { facts: Record<string, ReactNode> }) {
  return (
    <dl className="facts">
      {Object.entries(facts).map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Returns facts whose values are shown as code. */
export function codes(entries: [name: string, value: string][]): Record<string, ReactNode> {
  return Object.fromEntries(entries.map(([name, value]) => [name, <code key={name}>{value}</code>]));
}

/** A section of a page with its heading, actions and content. */
export function Section(props: { title: string; id?: string; actions?: ReactNode; children: ReactNode }) {
  const { title, id, actions, children } = props;
  return (
    <section id={id} tabIndex={id ? -1 : undefined}>
      <div className="section-head">
        <h2>{title}</h2>
        {actions && <div className="actions">{actions}</div>}
      </div>
      {children}
    </section>
  );
}
