import { call } from '../lib/api.js';
import { count } from '../lib/format.js';
import { type ActionName, ACTIONS, argsOf, type Filter, rateOf, toOf } from '../lib/operations.js';
import { type Place, v1 } from '../lib/place.js';
import { go, hrefIn } from '../lib/router.js';
import { act } from './action.jsx';

/* Operations: one action over all jobs that match a filter. */

/** How many jobs there are with a reason. */
interface JobsByReason {
  readonly reason: string;
  readonly jobs: number;
}

export interface Operation {
  readonly id: string;
  readonly action: string;
  readonly filter: Readonly<Record<string, unknown>>;
  readonly dry_run: boolean;
  readonly rate_per_s: number | null;
  readonly state: 'running' | 'done' | 'stopped';
  readonly message: string | null;
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly refusals: readonly JobsByReason[];
  readonly looked: number;
  /** Null: not known. */
  readonly to_look: number | null;
  readonly samples: readonly { readonly id: string; readonly queue: string; readonly state: string }[];
  readonly created_at: string;
  readonly ended_at: string | null;
  /** Servers that cannot undo leave it out. */
  readonly undo?: {
    readonly state: string;
    readonly ends_at: string | null;
    readonly jobs: number;
    readonly restored: number;
    readonly failed: number;
    readonly refusals: readonly JobsByReason[];
    readonly incomplete: readonly JobsByReason[];
    readonly message: string | null;
  } | null;
}

/** What an operation may be undone for, in milliseconds. */
const UNDO_MS = 600_000;
const POLL_MS = 300;
const MOST_POLLS = 60;

/** Starts a dry run, and waits until it has counted. */
async function countOf(place: Place, action: ActionName, filter: Filter): Promise<Operation> {
  const body = JSON.stringify({
    action,
    filter,
    dry_run: true,
    ...(action === 'move' ? { to: 'dry-run' } : {}),
  });
  let { body: operation } = await call<Operation>(
    { method: 'POST', path: v1(place, '/operations'), body },
    place.pool,
  );
  for (let i = 0; i < MOST_POLLS && operation.state === 'running'; i++) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const path = v1(place, `/operations/${operation.id}`);
    ({ body: operation } = await call<Operation>({ method: 'GET', path }, place.pool));
  }
  return operation;
}

function countText({ matched, state, samples }: Operation): string {
  const ids = samples.map(({ id, queue }) => `${id} in ${queue}`).join(', ');
  const all = state === 'running' ? `More than ${count(matched)}` : count(matched);
  return `${all} ${matched === 1 ? 'job matches' : 'jobs match'} now${ids === '' ? '' : `; the first: ${ids}`}.`;
}

/** Opens the dialog of an action over all jobs that match a filter: it counts first. @param what the jobs, as in its title */
export function startOperation(
  place: Place,
  action: ActionName,
  filter: Filter,
  what = 'all that match',
): void {
  const [, label = '', about = ''] = ACTIONS.find(([name]) => name === action) ?? [];
  const path = v1(place, '/operations');
  const hasUndo = action === 'cancel' || action === 'delete';
  act({
    ...{ title: `${label} ${what}`, place, isDanger: hasUndo },
    about: `${about} The server works through them; you can stop it on the page Operations.${hasUndo ? ' It can be undone for ten minutes after its end.' : ''}`,
    dryRun: async () => countText(await countOf(place, action, filter)),
    form: (
      <div class="form">
        {action === 'move' && (
          <label>
            <span>To queue</span>
            <input name="to" required autocomplete="off" />
          </label>
        )}
        <label>
          <span>Jobs per second</span>
          <input name="rate" inputMode="numeric" autocomplete="off" />
          <small>at most; empty = as fast as Redis allows</small>
        </label>
      </div>
    ),
    call: (fields) => {
      const undo = hasUndo ? { undo_ms: UNDO_MS } : {};
      const body = { action, filter, rate_per_s: rateOf(fields), to: toOf(fields), ...undo };
      return { method: 'POST', path, body: JSON.stringify(body) };
    },
    cli: (fields) =>
      argsOf(action, filter, {
        ...{ to: toOf(fields), rate: rateOf(fields) },
        undoMs: hasUndo ? UNDO_MS : undefined,
      }),
    done: ({ body }) => `Operation ${(body as Operation).id} has begun.`,
    after: () => go(hrefIn(place, ['operations'])),
  });
}
