import type { AdminConfig } from '../../config/config.js';
import { Accounts } from '../accounts.js';
import { PasswordChecks } from '../password-checks.js';
import { SessionCookie } from './session-cookie.js';

/** How clients of the admin port prove which account they are. The hooks of the port and its calls share it. */
export class SignIn {
  readonly accounts: Accounts;
  readonly passwords: PasswordChecks;
  readonly cookie: SessionCookie;
  /** False: neither accounts nor OpenID Connect are configured, and the port is open. */
  readonly isNeeded: boolean;

  constructor({ accounts, oidc, tls_cert, public_url = '' }: AdminConfig) {
    this.accounts = new Accounts(accounts);
    this.passwords = new PasswordChecks(this.accounts);
    this.isNeeded = this.accounts.areNeeded || oidc.issuer !== undefined;
    this.cookie = new SessionCookie(tls_cert !== undefined || public_url.startsWith('https:'));
  }
}
