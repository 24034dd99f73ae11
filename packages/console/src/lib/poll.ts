import { signal } from '@preact/signals';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { CallError, needsSignIn } from './api.js';

/** False: the reader has stopped the updates. */
export const isLive = signal(true);
/** When the data of the page came, Unix ms; null before. */
export const updatedAt = signal<number | null>(null);
/** The time, Unix ms, for texts such as `3 s ago`; it stands still while the page is hidden. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1_000);

/** What a view shows: the last data, and the error of the last try. */
export interface Polled<Data> {
  readonly data: Data | undefined;
  readonly error: CallError | undefined;
  /** Loads at once, after an action. */
  readonly reload: () => void;
}

const LONGEST_MS = 30_000;

/**
 * Loads data, and again every `everyMs` while the page is visible and live. After errors the time between tries doubles, up
 * to 30 s. Another `key` begins anew; null loads nothing.
 */
export function usePoll<Data>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<Data>,
  everyMs = 2_000,
): Polled<Data> {
  const [state, setState] = useState<{ key: string | null; data?: Data; error?: CallError }>({ key });
  const current = useRef(load);
  current.current = load;
  const again = useRef<() => void>(() => undefined);

  useEffect(() => {
    if (key === null) return undefined;
    let controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let isBusy = false;
    const plan = (): void => {
      clearTimeout(timer);
      if (document.hidden || !isLive.peek() || needsSignIn.peek() || everyMs <= 0) return;
      timer = setTimeout(run, Math.min(LONGEST_MS, everyMs * 2 ** Math.min(failures, 4)));
    };
    const run = (): void => {
      if (isBusy) controller.abort();
      controller = new AbortController();
      const mine = controller;
      isBusy = true;
      current
        .current(mine.signal)
        .then((data) => {
          if (mine.signal.aborted) return;
          failures = 0;
          updatedAt.value = now.value = Date.now();
          setState({ key, data });
        })
        .catch((error: unknown) => {
          if (mine.signal.aborted) return;
          failures++;
          const failure = error instanceof CallError ? error : new CallError(0, '', String(error));
          setState((old) => ({ ...(old.key === key ? old : {}), key, error: failure }));
        })
        .finally(() => {
          if (mine !== controller) return;
          isBusy = false;
          plan();
        });
    };
    again.current = run;
    const onVisible = (): void => {
      if (document.hidden) clearTimeout(timer);
      else if (isLive.peek() && everyMs > 0) run();
    };
    document.addEventListener('visibilitychange', onVisible);
    // The switch and a sign-in start it again; the first call of `subscribe` is the first run.
    let isFirst = true;
    const onSwitch = (): void => {
      if (isFirst) return;
      if (isLive.peek() && !needsSignIn.peek()) run();
      else clearTimeout(timer);
    };
    const ends = [isLive.subscribe(onSwitch), needsSignIn.subscribe(onSwitch)];
    isFirst = false;
    run();
    return () => {
      clearTimeout(timer);
      controller.abort();
      document.removeEventListener('visibilitychange', onVisible);
      for (const end of ends) end();
    };
  }, [key, everyMs]);

  const reload = useCallback(() => again.current(), []);
  const isMine = state.key === key;
  return { data: isMine ? state.data : undefined, error: isMine ? state.error : undefined, reload };
}
