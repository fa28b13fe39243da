import { type GoneText, goneText } from '@customer-platform/contracts/operators';

/** Entries that a list lacks: those of the services that are gone. */
export interface Lacks {
  gone: readonly string[];
  what: 'queues' | 'dead events' | 'endpoints' | 'processes' | 'entries';
}

/** Returns lines for above a list, which say what it lacks, none as long as a narrow terminal; none where no service is gone. */
export function goneLines({ gone, what }: Lacks): string[] {
  const text = goneText(gone, what);
  return text ? [`${text.who}:`, `${text.so}. See ${pathOf(text)}`] : [];
}

/** Returns the same in one line of the live view. */
export function goneLine(text: GoneText): string {
  return `${text.who}: ${text.so}. See ${pathOf(text)}`;
}

function pathOf({ runbook }: GoneText): string {
  return `docs/runbooks/${runbook}.md`;
}
