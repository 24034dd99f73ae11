import { createHash } from 'node:crypto';
import { HttpStatus } from '@nestjs/common';

const STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}' +
  'h1{font-size:1.4rem}code{overflow-wrap:anywhere}';
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of all answers of a sign-in: none may be kept, and no other site learns its address. */
export const SIGN_IN_HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
};

/** Headers of a page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...SIGN_IN_HEADERS,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
};

/** Why a sign-in has failed, for its user. */
export interface Problem {
  readonly status: HttpStatus;
  readonly title: string;
  /** Sentences. */
  readonly text: readonly string[];
}

/** What the pages name. */
export interface PageNames {
  /** Of the provider. */
  readonly provider: string;
  readonly account: string | null;
  /** Groups that have a role. */
  readonly groups: readonly string[];
}

/** Why a sign-in has failed: `away`: the provider does not answer; `untrusted`: its answer failed a check. */
export type ProblemKind =
  | 'not_begun'
  | 'used'
  | 'away'
  | 'untrusted'
  | 'denied'
  | 'no_name'
  | 'no_group'
  | 'store_away';

/** The page of a failed sign-in. */
export function problemOf(kind: ProblemKind, { provider, account, groups }: PageNames): Problem {
  const failed = `Sign-in failed`;
  switch (kind) {
    case 'not_begun':
      return {
        status: HttpStatus.BAD_REQUEST,
        title: failed,
        text: ['This browser has not begun the sign-in, or it took longer than ten minutes. Begin again.'],
      };
    case 'used':
      return {
        status: HttpStatus.BAD_REQUEST,
        title: failed,
        text: ['This sign-in was used already. Begin again.'],
      };
    case 'away':
      return {
        status: HttpStatus.SERVICE_UNAVAILABLE,
        title: `${provider} does not answer`,
        text: [
          'The server could not reach the sign-in service. Try again in a minute.',
          'Accounts with a password can still sign in.',
        ],
      };
    case 'store_away':
      return {
        status: HttpStatus.SERVICE_UNAVAILABLE,
        title: 'Redis does not answer',
        text: ['The server cannot store your session now. Begin again in a minute.'],
      };
    case 'denied':
      return {
        status: HttpStatus.FORBIDDEN,
        title: failed,
        text: [`${provider} has not signed you in, or you have cancelled it there.`],
      };
    case 'untrusted':
      return {
        status: HttpStatus.BAD_REQUEST,
        title: failed,
        text: [
          `The answer of ${provider} is too old, or failed a check. Begin again.`,
          'If it fails again, ask the operator of this server: its log has the reason.',
        ],
      };
    case 'no_name':
      return {
        status: HttpStatus.FORBIDDEN,
        title: 'No access',
        text: [
          `${provider} has given no usable name of your account.`,
          'Ask the operator of this server to check the setting admin.oidc.account_claim.',
        ],
      };
    case 'no_group':
      return {
        status: HttpStatus.FORBIDDEN,
        title: 'No access',
        text: [
          `You are signed in as ${account ?? ''}, but none of your groups has access to this server.`,
          `Ask the administrator of ${provider} to make you a member of one of these groups: ${groups.join(', ')}.`,
        ],
      };
  }
}

/** The page as HTML. @param console address of the console */
export function pageOf({ title, text }: Problem, console: string): string {
  const sentences = text.map((one) => `<p>${escape(one)}</p>`).join('\n');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${escape(title)} · Pumphouse</title>
<style>${STYLE}</style>
<main>
<h1>${escape(title)}</h1>
${sentences}
<p><a href="${escape(console)}">To the console</a></p>
</main>
</html>
`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${String(one.charCodeAt(0))};`);
}
