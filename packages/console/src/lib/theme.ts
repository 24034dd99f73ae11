import { signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';
const KEY = 'pumphouse-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { auto: 'light', light: 'dark', dark: 'auto' };

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

export const theme = signal<Theme>(stored());
theme.subscribe((value) => {
  document.documentElement.dataset.theme = value;
});

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
/** Changes when the system's scheme does: the theme `auto` follows it. */
export const scheme = signal<'light' | 'dark'>(schemeOfSystem());
systemIsDark.addEventListener('change', () => {
  scheme.value = schemeOfSystem();
});

function schemeOfSystem(): 'light' | 'dark' {
  return systemIsDark.matches ? 'dark' : 'light';
}

/** Goes on to the next theme, and keeps it in this browser. */
export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // A browser without storage forgets it.
  }
}
