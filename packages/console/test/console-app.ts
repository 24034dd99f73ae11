import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Redis } from 'ioredis';
import type { Page } from 'playwright-core';
import type { Config } from '../../../src/config/config.js';
import { TestApp } from '../../../test/support/app.js';
import { ROOT } from '../../../test/support/packed.js';
import { Console } from './browser.js';

const NAMESPACE = 'shop';

/** A server with a Redis of its own, a namespace `shop`, and a browser on its console. */
export class ConsoleApp {
  private constructor(
    readonly app: TestApp,
    readonly redis: Redis,
    readonly browser: Console,
  ) {}

  /** Of the namespace. */
  token = '';

  /** @param change of the configuration */
  static async open(
    env: Record<string, string> = {},
    change?: (config: Config) => void,
  ): Promise<ConsoleApp> {
    const { app, client } = await TestApp.alone(env, change);
    const browser = await Console.open(`http://127.0.0.1:${String(app.server.admin.port)}/ui/`);
    return new ConsoleApp(app, client, browser);
  }

  /** Makes the token of the namespace. @param headers of an account, where there are accounts */
  async makeToken(headers: Record<string, string> = {}): Promise<void> {
    const made = await this.app.admin('POST', `/token/${NAMESPACE}?description=test`, { headers });
    this.token = (made.json as { token: string }).token;
  }

  /** A call of the API in the namespace. */
  async call(method: string, path: string, body?: object | string): Promise<Record<string, unknown>> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { json } = await this.app.call(method, `/v1/${NAMESPACE}${path}`, {
      token: this.token,
      body: text,
    });
    return (json ?? {}) as Record<string, unknown>;
  }

  /** Leases the next job of a queue, which must have the id, and fails it for good. */
  async fail(queue: string, id: string, group: string, message: string): Promise<void> {
    const answer = await this.call('POST', '/leases', { queues: [queue], worker: 'biller' });
    const [job] = (answer as { jobs: { id: string; lease: number }[] }).jobs;
    expect(job!.id).toBe(id);
    await this.call('POST', `/jobs/${id}/fail`, { lease: job!.lease, group, message });
  }

  stateOf = async (id: string): Promise<unknown> => (await this.call('GET', `/jobs/${id}`)).state;

  /** Uses a page, and closes it. The pages must have had no exception, and broken no rule of their policy. */
  async using(opening: Promise<Page>, use: (page: Page) => Promise<void>): Promise<void> {
    const page = await opening;
    try {
      await use(page);
    } finally {
      await page.context().close();
    }
    expect(this.browser.failures).toEqual([]);
  }

  /**
   * Runs lines as an operator would, with `npx pumphouse` of this build. The server is in this process, so it must not
   * block.
   *
   * @returns what they print
   */
  async run(lines: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const program = `${process.execPath} ${join(ROOT, 'dist', 'cli', 'pumphouse.js')}`;
    const text = lines.replaceAll(/(^|\(|\n)(?:npx )?pumphouse /g, `$1${program} `);
    const url = `http://127.0.0.1:${String(this.app.port)}`;
    const own = { PATH: process.env.PATH, PUMPHOUSE_URL: url, PUMPHOUSE_TOKEN: this.token };
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', text], { env: { ...own, ...env } });
    expect(stderr).toBe('');
    return stdout;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.app.stop();
  }
}

/** Waits until the page has its first data. */
export async function isShown(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
}

/** Presses Tab until the element with a text has the focus. */
export async function pressTabUntil(page: Page, text: string): Promise<void> {
  for (let i = 0; i < 80; i++) {
    const found = await page.evaluate(() => {
      const { activeElement: element } = document;
      return element?.getAttribute('aria-label') ?? element?.textContent.trim();
    });
    if (found === text) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`80 tabs do not reach ${text}`);
}
