import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { needsSignIn, read } from './lib/api.js';
import { relative } from './lib/format.js';
import { isLive, now, updatedAt, usePoll } from './lib/poll.js';
import { NAMESPACE_PAGES, PAGES } from './lib/pages.js';
import { DEFAULT_POOL, type Place } from './lib/place.js';
import { go, href, hrefIn, hrefOfQueues, place, route } from './lib/router.js';
import { loadSession, type Session, session, signOut } from './lib/session.js';
import { nextTheme, theme } from './lib/theme.js';
import { ActionDialog } from './ui/action.jsx';
import { toast, Toasts } from './ui/toasts.jsx';
import { AccountsView } from './views/accounts.jsx';
import { AuditView } from './views/audit.jsx';
import { DeadView } from './views/dead.jsx';
import { Help } from './views/help.jsx';
import { JobView } from './views/job.jsx';
import { JobsView } from './views/jobs.jsx';
import { LiveView } from './views/live.jsx';
import { OperationsView } from './views/operations.jsx';
import { OverviewView } from './views/overview.jsx';
import { QueueView } from './views/queue.jsx';
import { RedisView } from './views/redis.jsx';
import { SchedulesView } from './views/schedules.jsx';
import { SignIn } from './views/sign-in.jsx';
import { TargetsView } from './views/targets.jsx';
import { TokensView } from './views/tokens.jsx';
import { WorkersView } from './views/workers.jsx';

const VIEWS: Readonly<Record<string, ComponentType<{ readonly place: Place }>>> = {
  dead: DeadView,
  schedules: SchedulesView,
  workers: WorkersView,
  targets: TargetsView,
  operations: OperationsView,
  live: LiveView,
  tokens: TokensView,
};

function View() {
  const { parts } = route.value;
  const [first = '', , section = '', name] = parts;
  const here = place.value;
  if (here !== null) {
    const key = `${here.pool}/${here.namespace}/${name ?? ''}`;
    if (section === 'queues' && name !== undefined) return <QueueView key={key} place={here} queue={name} />;
    if (section === 'jobs' && name !== undefined) return <JobView key={key} place={here} id={name} />;
    if (section === 'jobs') return <JobsView key={key} place={here} />;
    const Found = VIEWS[section];
    if (Found !== undefined) return <Found key={`${key}${section}`} place={here} />;
  }
  if (parts.length === 0) return <OverviewView />;
  if (first === 'redis') return <RedisView />;
  if (first === 'accounts') return <AccountsView />;
  if (first === 'audit') return <AuditView />;
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        <a href="#/">To the overview</a>
      </p>
    </>
  );
}

/** Differs between accounts and between their roles: what one has read is not shown to another. */
function readerOf({ account, role, namespaces }: Session): string {
  return JSON.stringify([account, role, namespaces]);
}

export function App() {
  const own = session.value;
  const [isHelp, setHelp] = useState(false);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    loadSession().catch((error: unknown) =>
      setProblem(error instanceof Error ? error.message : String(error)),
    );
  }, []);
  useEffect(() => onKeys(() => setHelp(true)), []);
  const { parts } = route.value;
  useEffect(() => {
    document.title = `${[...parts].reverse()[0] ?? 'Overview'} · Pumphouse`;
    scrollTo(0, 0);
  }, [parts.join('/')]);

  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        To the content
      </a>
      <Header onHelp={() => setHelp(true)} />
      <div class="frame">
        <Nav />
        <main id="main" tabIndex={-1}>
          {needsSignIn.value && <SignIn />}
          {problem !== '' && own === null && !needsSignIn.value && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <div hidden={needsSignIn.value}>{own !== null && <View key={readerOf(own)} />}</div>
        </main>
      </div>
      <ActionDialog />
      {isHelp && <Help onClose={() => setHelp(false)} />}
      <Toasts />
    </>
  );
}

/** The address has the route, so the link moves the focus itself. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Header({ onHelp }: { onHelp: () => void }) {
  const at = updatedAt.value;
  const own = session.value;
  return (
    <header>
      <a class="brand" href="#/">
        Pumphouse
      </a>
      <span class="spacer" />
      <span class="updated">{at === null ? '' : `updated ${relative(at, Math.max(now.value, at))}`}</span>
      <button
        type="button"
        class="quiet"
        aria-pressed={!isLive.value}
        title="Stops and starts the updates of the page (p)"
        onClick={() => {
          isLive.value = !isLive.value;
        }}
      >
        {isLive.value ? '‖ pause' : '▶ updates are paused'}
      </button>
      <button type="button" class="quiet" onClick={nextTheme} title="Theme (t)">
        {theme.value === 'auto' ? '◐ auto' : theme.value === 'light' ? '○ light' : '● dark'}
      </button>
      <button type="button" class="quiet" onClick={onHelp} aria-label="Help" title="Keys and help (?)">
        ?
      </button>
      {own?.account != null && (
        <span class="account">
          <a href={href(['accounts'])}>
            {own.account} <span class="dim">{own.role.replace('_', ' ')}</span>
          </a>
          {own.session && (
            <button type="button" class="quiet" onClick={() => void signOut().catch(failed)}>
              sign out
            </button>
          )}
        </span>
      )}
    </header>
  );
}

function failed(error: unknown): void {
  toast('failed', error instanceof Error ? error.message : String(error));
}

const NAMESPACES_MS = 15_000;

async function allNamespaces(signal: AbortSignal): Promise<Place[]> {
  const pools = await read<string[]>('/pools', signal);
  const lists = await Promise.all(
    pools.map(async (pool) => {
      const path = `/namespaces${pool === DEFAULT_POOL ? '' : `?pool=${encodeURIComponent(pool)}`}`;
      const { namespaces } = await read<{ namespaces: { namespace: string }[] }>(path, signal);
      return namespaces.map(({ namespace }) => ({ pool, namespace }));
    }),
  );
  return lists.flat();
}

function Nav() {
  const { parts } = route.value;
  const here = place.value;
  const own = session.value;
  const { data: known = [] } = usePoll(
    own === null ? null : `namespaces of ${readerOf(own)}`,
    allNamespaces,
    NAMESPACES_MS,
  );
  const nameOf = ({ pool, namespace }: Place): string =>
    pool === DEFAULT_POOL ? namespace : `${pool}: ${namespace}`;
  const isListed = here === null || known.some((one) => nameOf(one) === nameOf(here));
  const listed = isListed || here === null ? known : [here, ...known];
  const section = here === null ? '' : (parts[2] ?? '');
  return (
    <nav class="side" aria-label="Pages">
      <ul>
        {PAGES.map(([name, label]) => (
          <Item
            key={name}
            address={href(name === '' ? [] : [name])}
            label={label}
            isOn={here === null && (parts[0] ?? '') === name}
          />
        ))}
      </ul>
      <label class="pick">
        <span>Namespace</span>
        <select
          value={here === null ? '' : nameOf(here)}
          onChange={({ currentTarget: { value } }) => {
            const chosen = listed.find((one) => nameOf(one) === value);
            if (chosen !== undefined)
              go(hrefIn(chosen, [section === '' || section === 'queues' ? 'jobs' : section]));
          }}
        >
          {here === null && <option value="">choose …</option>}
          {listed.map((one) => (
            <option key={nameOf(one)}>{nameOf(one)}</option>
          ))}
        </select>
      </label>
      {here !== null && (
        <ul>
          <Item address={hrefOfQueues(here)} label="Queues" isOn={section === 'queues'} />
          {NAMESPACE_PAGES.map(([name, label]) => (
            <Item key={name} address={hrefIn(here, [name])} label={label} isOn={section === name} />
          ))}
        </ul>
      )}
    </nav>
  );
}

function Item({ address, label, isOn }: { address: string; label: string; isOn: boolean }) {
  return (
    <li>
      <a href={address} aria-current={isOn ? 'page' : undefined}>
        {label}
      </a>
    </li>
  );
}

const SECOND_KEY_MS = 1_500;

/** Keys of the page: not while the reader types, and not with modifiers. */
function onKeys(onHelp: () => void): () => void {
  let goAtMs = 0;
  const onKey = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (
      target.matches('input, textarea, select, [contenteditable]') ||
      document.querySelector('dialog[open]') !== null
    )
      return;
    const here = place.value;
    if (Date.now() - goAtMs < SECOND_KEY_MS) {
      goAtMs = 0;
      const page = PAGES.find(([, , key]) => key === event.key);
      const inside = NAMESPACE_PAGES.find(([, , key]) => key === event.key);
      if (page !== undefined) go(href(page[0] === '' ? [] : [page[0]]));
      else if (inside !== undefined && here !== null) go(hrefIn(here, [inside[0]]));
      else return;
    } else if (event.key === 'g') goAtMs = Date.now();
    else if (event.key === '?') onHelp();
    else if (event.key === 't') nextTheme();
    else if (event.key === 'p') isLive.value = !isLive.value;
    else if (event.key === '/') document.querySelector<HTMLElement>('[data-key="/"]')?.focus();
    else return;
    event.preventDefault();
  };
  document.addEventListener('keydown', onKey);
  return () => document.removeEventListener('keydown', onKey);
}
