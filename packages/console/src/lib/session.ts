import { signal } from '@preact/signals';
import { adminUrl, call, CallError, needsSignIn, read } from './api.js';
import { server } from './lines.js';
import { href, route } from './router.js';

export type Role = 'viewer' | 'viewer_data' | 'operator' | 'admin';

/** Who uses the console; without accounts anybody on this machine does, as an admin. */
export interface Session {
  readonly account: string | null;
  readonly role: Role;
  readonly namespaces: readonly string[] | null;
  /** False: basic auth, or no accounts. */
  readonly session: boolean;
  readonly expires_at: string | null;
  /** Of the API; null: not known. */
  readonly api_url: string | null;
}

const ORDER: readonly Role[] = ['viewer', 'viewer_data', 'operator', 'admin'];

/** Null until it is known, and while a sign-in is needed. */
export const session = signal<Session | null>(null);

/** True if the account may do what needs the role. The server decides; this only hides what it would refuse. */
export function may(role: Role): boolean {
  const own = session.value;
  return own !== null && ORDER.indexOf(own.role) >= ORDER.indexOf(role);
}

/** Reads the session of this browser. */
export async function loadSession(): Promise<void> {
  try {
    use(await read<Session>('/session'));
  } catch (error) {
    if (!(error instanceof CallError && error.status === 401)) throw error;
  }
}

/** @throws {CallError} 401: name or password is wrong; 429: too many tries */
export async function signIn(account: string, password: string): Promise<void> {
  const body = JSON.stringify({ account, password });
  use((await call<Session>({ method: 'POST', path: '/session', body })).body);
}

function use(found: Session): void {
  session.value = found;
  server.value = { adminUrl: adminUrl(), apiUrl: found.api_url, hasAccounts: found.account !== null };
  needsSignIn.value = false;
}

/** How the provider of OpenID Connect is called; null: there is none. */
export async function oidcName(): Promise<string | null> {
  const { oidc } = await read<{ oidc: { name: string } | null }>('/sign-in');
  return oidc?.name ?? null;
}

/** Where a sign-in by OpenID Connect begins. It comes back to the page that is shown now. */
export function addressOfOidc(): string {
  const { parts, query } = route.value;
  const url = new URL('../sign-in/oidc', document.baseURI);
  url.searchParams.set('route', href(parts, Object.fromEntries(query)).slice(1));
  return url.href;
}

export async function signOut(): Promise<void> {
  await call({ method: 'DELETE', path: '/session' });
  session.value = null;
  needsSignIn.value = true;
}
