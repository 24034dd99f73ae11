import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TlsListenerConfig } from '../config/config.js';
import { readPemFiles } from '../config/pem-files.js';
import { ConfigError } from '../config/problems.js';
import type { Log } from '../domain/log.js';
import type { TlsOptions } from '../http/adapter.js';

/** How often the files are looked at, in milliseconds. Looked at, not watched: a mounted secret is a link that changes its target. */
const LOOK_MS = 2_000;

type Pem = Partial<Record<'tls_cert' | 'tls_key' | 'tls_client_ca', string>>;

/** The certificate and key of one listener, and the CA of its clients if they must have certificates; read again when they change. */
export class TlsFiles {
  private readonly halt = new AbortController();
  private watching: Promise<void> | undefined;
  /** What was last seen to be wrong: told when it is seen again, for two files are never replaced in one moment. */
  private suspect = '';
  private told = '';

  private constructor(
    private readonly section: string,
    private readonly files: TlsListenerConfig,
    private pem: Pem,
  ) {}

  /**
   * The files of a section that names some; undefined if it names none.
   *
   * @throws {ConfigError} a file cannot be read, or they do not fit together
   */
  static of(section: string, files: TlsListenerConfig): TlsFiles | undefined {
    return files.tls_cert === undefined ? undefined : new TlsFiles(section, files, read(section, files));
  }

  /** What a listener needs to begin with. */
  get options(): TlsOptions {
    const { tls_client_ca: ca } = this.pem;
    return { ...contextOf(this.pem), requestCert: ca !== undefined, rejectUnauthorized: ca !== undefined };
  }

  /** Gives a listener what is new in the files, until `stop`. What cannot be used is told in the log, and the old goes on. */
  watch(server: Server, log: Log, lookMs = LOOK_MS): void {
    this.watching = this.look(server, log, lookMs);
  }

  async stop(): Promise<void> {
    this.halt.abort();
    await this.watching;
  }

  private async look(server: Server, log: Log, lookMs: number): Promise<void> {
    const { signal } = this.halt;
    for (;;) {
      await sleep(lookMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const pem = read(this.section, this.files);
        this.suspect = this.told = '';
        if (JSON.stringify(pem) === JSON.stringify(this.pem)) continue;
        server.setSecureContext(contextOf(pem));
        this.pem = pem;
        log.info({ section: this.section }, 'the certificate was read anew');
      } catch (error) {
        this.tell(error instanceof Error ? error.message : String(error), log);
      }
    }
  }

  private tell(problem: string, log: Log): void {
    if (this.suspect === problem && this.told !== problem) {
      log.error(
        { section: this.section, err: problem },
        'the new certificate cannot be used, the old one goes on',
      );
      this.told = problem;
    }
    this.suspect = problem;
  }
}

/** @throws {ConfigError} */
function read(section: string, { tls_cert, tls_key, tls_client_ca }: TlsListenerConfig): Pem {
  const pem = readPemFiles(section, { tls_cert, tls_key, tls_client_ca });
  try {
    createSecureContext(contextOf(pem));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`${section}.tls_cert, tls_key and tls_client_ca cannot be used together: ${why}`]);
  }
  return pem;
}

function contextOf({
  tls_cert: cert,
  tls_key: key,
  tls_client_ca: ca,
}: Pem): Pick<TlsOptions, 'cert' | 'key' | 'ca'> {
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ca === undefined ? {} : { ca }),
  };
}
