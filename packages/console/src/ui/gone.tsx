import { goneText } from '@customer-platform/contracts/operators';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Id } from './copy.tsx';
import { serviceNames } from './services.ts';

/** A runbook by its path in the repository, to be copied: the public documentation does not have them. */
export function Runbook({ name }: { name: string }) {
  return (
    <Id value={`docs/runbooks/${name}.md`}>
      <code className="runbook">
        <span>docs/runbooks/</span>
        {name}.md
      </code>
    </Id>
  );
}

/** Says which services do not respond, that `what` of theirs is not listed and, in `children`, more of it; nothing where all do. */
export function Gone(props: {
  services: readonly string[];
  what: string;
  isOnServices?: boolean;
  children?: ReactNode;
}) {
  const { services, what, isOnServices = false, children } = props;
  const text = goneText(services, what);
  if (!text) return null;
  return (
    <p className="notice bad" role="status">
      <strong>{text.who}</strong>: {text.so}. {children}{' '}
      {!isOnServices && (
        <>
          See <Link to="/services">Services</Link>.{' '}
        </>
      )}
      Runbook: <Runbook name={text.runbook} />
    </p>
  );
}

/** Returns what a list without entries says: that there are none only where every service responded. */
export function noneOf(text: string, gone: readonly string[]): string {
  if (gone.length === 0) return text;
  if (gone.length >= serviceNames.length) return 'Unknown: no service responded.';
  return `None at the services that responded; unknown for ${gone.join(', ')}.`;
}
