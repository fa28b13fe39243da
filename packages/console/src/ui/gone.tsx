import { goneText } from '@customer-platform/contracts/operators';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Id } from './copy.tsx';
import { serviceNames } from './services.ts';

/** A runbook's path in the repository, with a copy button. It is not a link since the public documentation has no runbooks. */
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

/** Names the services that do not respond, and says that their `what` is missing. `children` is further text. Empty if all respond. */
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

/** Returns the text of an empty list: `text` if all services responded, or else that the list is incomplete. */
export function noneOf(text: string, gone: readonly string[]): string {
  if (gone.length === 0) return text;
  if (gone.length >= serviceNames.length) return 'Unknown: no service responded.';
  return `None at the services that responded; unknown for ${gone.join(', ')}.`;
}
