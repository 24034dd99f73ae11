import { signal } from '@preact/signals';
import { visible } from '../lib/raw-json.js';

interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'failed';
  readonly text: string;
}

/** How long a success is shown, in milliseconds; a failure stays until it is closed. */
const SHOWN_MS = 6_000;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

/** Shows what an action did. */
export function toast(kind: Toast['kind'], text: string): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, kind, text }];
  if (kind === 'done') setTimeout(() => close(id), SHOWN_MS);
}

function close(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text }) => (
        <div key={id} class={`toast ${kind}`}>
          <span class="pre">{visible(text)}</span>
          <button type="button" class="quiet" aria-label="Close this message" onClick={() => close(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
