import type { Command } from 'commander';
import type { AdminClient } from './admin-client.js';
import type { Output } from './print.js';

/** What a command works with. */
export interface Session extends Output {
  readonly admin: AdminClient;
  /** The answer shall be printed as JSON. */
  readonly isJson: boolean;
}

/** Opens a session by the options that stand before or after the command's name. */
export type OpenSession = (command: Command) => Session;
