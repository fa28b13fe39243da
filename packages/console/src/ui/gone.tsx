import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { runbookOf } from '../runbooks.ts';
import { countOf } from './format.ts';
import { serviceNames } from './services.ts';

/**
 * Returns whether the bus rather than the services is probably unavailable: the control plane asks services over it, so the gateway that responds here
 * cannot itself be gone.
 */
export function isBusSuspected(gone: readonly string[]): boolean {
  return gone.includes('gateway');
}

/** Returns what replied over the bus, in a sentence, where the bus itself is suspected. */
export function busSilence(gone: readonly string[]): string {
  if (gone.length >= serviceNames.length) return 'No service replied over the bus.';
  return `The gateway that serves this page did not reply over the bus; nor did: ${gone.join(', ')}.`;
}

/** A runbook by its path in the repository: as text, since no request leaves this machine. */
export function Runbook({ name }: { name: string }) {
  return <code className="runbook">docs/runbooks/{name}.md</code>;
}

/** Says which services are gone and, in `children`, what that hides; nothing where none is. */
export function Gone(props: { services: readonly string[]; isOnServices?: boolean; children?: ReactNode }) {
  const { services, isOnServices = false, children } = props;
  if (services.length === 0) return null;
  if (isBusSuspected(services)) {
    return (
      <p className="notice bad" role="status">
        <strong>{busSilence(services)}</strong> The bus (NATS) is probably unavailable; the services may be well.{' '}
        {children} Runbook: <Runbook name={runbookOf.bus} />
      </p>
    );
  }
  return (
    <p className="notice bad" role="status">
      {countOf(services.length, 'service is gone', 'services are gone')}: <strong>{services.join(', ')}</strong>. No
      process replied within 1 s. {children}{' '}
      {!isOnServices && (
        <>
          See <Link to="/services">Services</Link>.{' '}
        </>
      )}
      Runbook: <Runbook name={runbookOf.gone} />
    </p>
  );
}

/** Returns what a list without entries says: that there are none only where every service responded. */
export function noneOf(text: string, gone: readonly string[]): string {
  if (gone.length === 0) return text;
  if (gone.length >= serviceNames.length) return 'Unknown: no service responded.';
  return `None at the services that responded; unknown for ${gone.join(', ')}.`;
}
