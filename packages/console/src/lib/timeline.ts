import type { Job, Step } from './types.js';

/** A part of a job's life in which its state did not change. */
export interface Segment {
  readonly state: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** True: it goes on. */
  readonly isOpen: boolean;
  /** The attempt that runs in it. */
  readonly attempt?: number;
  /** It ended by a failure. */
  readonly hasFailed: boolean;
}

/** The state that a step leads to; others change none. */
const LEADS_TO: Readonly<Record<string, string>> = {
  ...{
    published: 'ready',
    ready: 'ready',
    released: 'ready',
    undone: 'ready',
    respawned: 'ready',
    moved: 'ready',
  },
  ...{
    timed_out: 'ready',
    retried: 'ready',
    scheduled: 'scheduled',
    debounced: 'scheduled',
    blocked: 'blocked',
  },
  ...{ held: 'held', leased: 'leased', died: 'dead', acked: 'done', cancelled: 'cancelled' },
};
const FAILURES = new Set(['retried', 'timed_out', 'failed', 'died']);
const ENDED = new Set(['dead', 'done', 'cancelled']);

/** Cuts the life of a job into segments, oldest first. */
export function segmentsOf(
  job: Pick<Job, 'timeline' | 'state' | 'due_at' | 'published_at'>,
  nowMs: number,
): Segment[] {
  const steps = job.timeline.filter(({ what }) => LEADS_TO[what] !== undefined);
  return steps.flatMap((step, i) => {
    const fromMs = Date.parse(step.at);
    const next = steps[i + 1];
    const state = next === undefined ? job.state : stateAfter(step, fromMs);
    if (next === undefined && ENDED.has(state)) return [];
    const untilMs = Math.max(fromMs, next === undefined ? nowMs : Date.parse(next.at));
    const attempt = typeof step.attempt === 'number' ? { attempt: step.attempt } : {};
    const hasFailed = state === 'leased' && next !== undefined && FAILURES.has(next.what);
    return [{ state, fromMs, untilMs, isOpen: next === undefined, hasFailed, ...attempt }];
  });
}

function stateAfter(step: Step, atMs: number): string {
  const due = typeof step.due_at === 'string' ? Date.parse(step.due_at) : 0;
  const state = LEADS_TO[step.what] ?? '';
  return state === 'ready' && due > atMs ? 'scheduled' : state;
}

/** The failures of a job, newest first. A `failed` is left out if the `died` behind it repeats it. */
export function failuresOf(steps: readonly Step[]): Step[] {
  const failures = steps.filter(({ what }) => FAILURES.has(what));
  return failures
    .filter((step, i) => !(step.what === 'failed' && failures[i + 1]?.what === 'died'))
    .reverse();
}
