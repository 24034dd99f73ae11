import type { Command } from 'commander';
import type { AdminClient } from './admin-client.js';
import type { Output } from './print.js';

/** The environment of a command: admin client and output. */
export interface Session extends Output {
  readonly admin: AdminClient;
  /** Print answers as JSON. */
  readonly isJson: boolean;
}

/** Opens a session with the options before or after the command's name. */
export type OpenSession = (command: Command) => Session;
