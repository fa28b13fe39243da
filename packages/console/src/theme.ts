import { useState } from 'react';

/** Colours of the page: the system's, or always light or dark. */
export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'console.theme';
const themes: readonly Theme[] = ['system', 'light', 'dark'];

function storedTheme(): Theme {
  const stored = localStorage.getItem(storageKey);
  return themes.find((theme) => theme === stored) ?? 'system';
}

/** Applies a theme to the document: CSS does the rest. */
export function applyTheme(theme: Theme = storedTheme()): void {
  document.documentElement.dataset.theme = theme;
}

/** The theme, and a function that goes on to the next. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(storedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return [
    theme,
    () => {
      localStorage.setItem(storageKey, next);
      applyTheme(next);
      setTheme(next);
    },
  ];
}
