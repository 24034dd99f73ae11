import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TlsListenerConfig } from '../../config/config.js';
import { readPemFiles } from '../../config/pem-files.js';
import { ConfigError } from '../../config/problems.js';
import type { Log } from '../../domain/log.js';
import type { TlsOptions } from '../../http/adapter.js';

/**
 * How often the files are read, in milliseconds. Polled, not watched: a mounted secret is a symbolic link whose target
 * changes.
 */
const CHECK_MS = 2_000;

type Pem = Partial<Record<'tls_cert' | 'tls_key' | 'tls_client_ca', string>>;

/**
 * Certificate and key of one listener, and the CA for client certificates if those are required. Reloaded when the
 * files change.
 */
export class TlsFiles {
  private readonly halt = new AbortController();
  private watching: Promise<void> | undefined;
  /**
   * The last problem found. Reported only when it is found again, because two files are never replaced at the same
   * moment.
   */
  private suspect = '';
  private reported = '';

  private constructor(
    private readonly section: string,
    private readonly files: TlsListenerConfig,
    private pem: Pem,
  ) {}

  /**
   * Reads the files of a configuration section; undefined if it names none.
   *
   * @throws {ConfigError} a file cannot be read, or the files do not match
   */
  static of(section: string, files: TlsListenerConfig): TlsFiles | undefined {
    return files.tls_cert === undefined ? undefined : new TlsFiles(section, files, read(section, files));
  }

  /** The options to create a listener with. */
  get options(): TlsOptions {
    const { tls_client_ca: ca } = this.pem;
    return {
      ...contextOf(this.pem),
      requestCert: ca !== undefined,
      rejectUnauthorized: /* guard: tls-client-certificate */ ca !== undefined,
    };
  }

  /** Passes changed files to a listener until `stop`. If they cannot be used, logs an error and keeps the old certificate. */
  watch(server: Server, log: Log, checkMs = CHECK_MS): void {
    this.watching = this.check(server, log, checkMs);
  }

  async stop(): Promise<void> {
    this.halt.abort();
    await this.watching;
  }

  private async check(server: Server, log: Log, checkMs: number): Promise<void> {
    const { signal } = this.halt;
    for (;;) {
      await sleep(checkMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const pem = read(this.section, this.files);
        this.suspect = this.reported = '';
        if (JSON.stringify(pem) === JSON.stringify(this.pem)) continue;
        // guard: tls-certificate-renewed
        server.setSecureContext(contextOf(pem));
        this.pem = pem;
        log.info({ section: this.section }, 'certificate reloaded');
      } catch (error) {
        this.report(error instanceof Error ? error.message : String(error), log);
      }
    }
  }

  private report(problem: string, log: Log): void {
    if (this.suspect === problem && this.reported !== problem) {
      log.error(
        { section: this.section, err: problem },
        'the new certificate is invalid; the old one stays in use',
      );
      this.reported = problem;
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
