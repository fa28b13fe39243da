import { useSyncExternalStore } from 'react';

/** The admin token of this tab, or the reason why there is none. */
interface Session {
  token: string | null;
  message: string | null;
}

const storageKey = 'console.token';
let session: Session = { token: sessionStorage.getItem(storageKey), message: null };
const listeners = new Set<() => void>();

function change(next: Session): void {
  session = next;
  if (next.token === null) sessionStorage.removeItem(storageKey);
  else sessionStorage.setItem(storageKey, next.token);
  for (const listener of listeners) listener();
}

/** Returns the session's token; an empty string if there is none. */
export function sessionToken(): string {
  return session.token ?? '';
}

/** Stores a token for this tab. */
export function startSession(token: string): void {
  change({ token, message: null });
}

/** Deletes the token and stores the reason. Ignores a refusal of an earlier token. */
export function endSession(message: string | null, token = sessionToken()): void {
  if (token === sessionToken()) change({ token: null, message });
}

/** Returns the session, and rerenders when it changes. */
export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => session,
  );
}
