import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { CallError } from '../lib/api.js';
import { count, local, relative, utc } from '../lib/format.js';
import type { Lines } from '../lib/lines.js';
import { now } from '../lib/poll.js';
import { visible } from '../lib/raw-json.js';
import { route, setQuery } from '../lib/router.js';
import { saveFile } from '../lib/save.js';
import { toast } from './toasts.jsx';

/** A number in a table: aligned, dim if it is zero. */
export function Num({ value, strong = false }: { value: number | null | undefined; strong?: boolean }) {
  const kind = value === 0 || value === null || value === undefined ? 'dim' : strong ? 'strong' : '';
  return <td class={`num ${kind}`}>{count(value)}</td>;
}

/** A time as `3 m ago`, with the exact ones for the pointer. */
export function Ago({ at }: { at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="dim">–</span>;
  const iso = typeof at === 'number' ? new Date(at).toISOString() : at;
  return (
    <time dateTime={iso} title={`${local(at)} local\n${utc(at)}`}>
      {relative(at, now.value)}
    </time>
  );
}

const SHAPES: Readonly<Record<string, string>> = {
  ready: '●',
  scheduled: '◷',
  leased: '▶',
  held: '◐',
  blocked: '◇',
  dead: '✕',
  done: '✓',
  cancelled: '⊘',
  paused: '‖',
  draining: '▽',
  ok: '✓',
  warning: '▲',
  problem: '✕',
  lost: '✕',
  quiet: '‖',
  stopping: '■',
  open: '✕',
  half_open: '◐',
  closed: '✓',
  off: '–',
};

/** A state by its word and its shape. */
export function Badge({ state, children }: { state: string; children?: ComponentChildren }) {
  return (
    <span class={`badge s-${state}`}>
      <span aria-hidden="true">{SHAPES[state] ?? '·'}</span> {children ?? state.replace('_', ' ')}
    </span>
  );
}

/** Text of users: hidden and turning characters are written out. */
export function Text({ children }: { children: string }) {
  return <bdi class="text">{visible(children)}</bdi>;
}

export function Copy({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await copyText(text);
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    } catch {
      toast('failed', 'The browser does not allow copying: select the text instead.');
    }
  };
  return (
    <button type="button" class="quiet copy" onClick={() => void copy()} aria-label={`Copy ${what}`}>
      {isDone ? 'copied' : 'copy'}
    </button>
  );
}

/** Browsers have `clipboard` only for https and loopback; others copy a selection. */
async function copyText(text: string): Promise<void> {
  const { clipboard } = navigator as { clipboard?: Clipboard };
  if (clipboard !== undefined) return clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error('not copied');
}

/** A button that saves a file. */
export function Download({ content, name }: { content: string | Uint8Array<ArrayBuffer>; name: string }) {
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => saveFile(content, name)}
      aria-label={`Download ${name}`}
    >
      download
    </button>
  );
}

/** A line of a shell with its copy button. */
export function CodeLine({ text, what }: { text: string; what: string }) {
  return (
    <div class="codeline">
      <code tabIndex={0}>{visible(text)}</code>
      <Copy text={text} what={what} />
    </div>
  );
}

/** The lines that do what the view or the action does. */
export function ShellLines({ lines, isOpen = false }: { lines: Lines; isOpen?: boolean }) {
  return (
    <details class="shell" open={isOpen}>
      <summary>Command line</summary>
      <CodeLine text={lines.curl} what="the curl line" />
      {lines.cli !== null && <CodeLine text={lines.cli} what="the pumphouse line" />}
    </details>
  );
}

/** What a view shows while it has no data, or none that is fresh. */
export function Problem({ error, hasData }: { error: CallError | undefined; hasData: boolean }) {
  if (error === undefined) return hasData ? null : <p class="dim loading">Loading …</p>;
  const about = hasData ? 'Not updated: ' : '';
  const hint = error.status === 0 ? ' The page tries again by itself.' : '';
  return (
    <p class="problem pre" role="alert">
      <span aria-hidden="true">▲ </span>
      {about}
      {visible(error.message)}
      {hint}
    </p>
  );
}

/** An empty list that says why it is empty. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Facts by name. Those that are null or undefined are left out. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Below a list: what the view says of it, and the way to the next page. `next`: its cursor, null at the end. */
export function Pages({ next, children }: { next: string | null; children?: ComponentChildren }) {
  return (
    <nav class="pages" aria-label="Pages of the list">
      {children}
      {next !== null && (
        <button type="button" onClick={() => setQuery({ cursor: next }, { keep: true })}>
          Next page
        </button>
      )}
    </nav>
  );
}

/** The way back to the first page, on all others. */
export function FirstPage() {
  if (route.value.query.get('cursor') === null) return null;
  return (
    <button type="button" onClick={() => setQuery({ cursor: null }, { keep: true })}>
      First page
    </button>
  );
}

/** A table that scrolls sideways by itself, so that the page does not. */
export function Table({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>{children}</table>
    </div>
  );
}

/** The head of a column that sorts the list. */
export function SortHead(props: {
  readonly name: string;
  readonly label: string;
  readonly sort: string;
  readonly isUp: boolean;
  readonly onSort: (name: string) => void;
  readonly isNum?: boolean;
}) {
  const { name, label, sort, isUp, onSort, isNum = false } = props;
  const isOn = sort === name;
  return (
    <th
      scope="col"
      class={isNum ? 'num' : ''}
      aria-sort={isOn ? (isUp ? 'ascending' : 'descending') : 'none'}
    >
      <button type="button" class="sort" onClick={() => onSort(name)}>
        {label}
        <span aria-hidden="true">{isOn ? (isUp ? ' ▲' : ' ▼') : ''}</span>
      </button>
    </th>
  );
}
