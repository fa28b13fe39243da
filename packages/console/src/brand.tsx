import { environment, environmentKind } from './platform.ts';

/** The environment's name in its color. */
export function EnvironmentTag() {
  const kind = { production: 'tag bad', staging: 'tag warn', other: 'tag' }[environmentKind(environment)];
  return <span className={kind}>{environment}</span>;
}

/** The product's logo. */
export function Logo() {
  return (
    <svg viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">
      <path d="M4 2h12a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-5l-5 4v-4H4a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2z" opacity="0.25" />
      <circle cx="6.5" cy="8" r="1.5" />
      <circle cx="10" cy="8" r="1.5" />
      <circle cx="13.5" cy="8" r="1.5" />
    </svg>
  );
}
