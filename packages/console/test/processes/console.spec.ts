import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { TestApp } from '../../../../test/support/app.js';
import { ROOT } from '../../../../test/support/packed.js';
import { waitFor } from '../../../../test/support/redis.js';
import { brokenRules, CHROMIUM, Console, overflowOf } from '../browser.js';

const LIMIT_MS = 120_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

/** Data that a careless page would change, run, or be changed by. */
const HOSTILE = [
  ...['{"order":12345678901234567890,"total":1.10,"a":1,"a":2', '"__proto__":{"x":1}'],
  ...[
    '"html":"<img src=x onerror=alert(1)>"',
    String.raw`"ansi":"\u001b[31mred"`,
    String.raw`"rtl":"\u202eabc"`,
  ],
  `"long":"${'x'.repeat(60_000)}"}`,
].join(',');

whereThere('the console in a browser', () => {
  let app: TestApp;
  let browser: Console;
  let token = '';

  beforeAll(async () => {
    ({ app } = await TestApp.alone());
    const made = await app.admin('POST', '/token/shop?description=test');
    token = (made.json as { token: string }).token;
    browser = await Console.open(`http://127.0.0.1:${String(app.server.admin.port)}/ui/`);
    await seed();
  }, LIMIT_MS);
  afterAll(async () => {
    await browser.close();
    await app.stop();
  });

  async function call(
    method: string,
    path: string,
    body?: object | string,
  ): Promise<Record<string, unknown>> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { json } = await app.call(method, `/v1/shop${path}`, { token, body: text });
    return (json ?? {}) as Record<string, unknown>;
  }

  /** A failed job with hostile texts, dead ones of a group, a paused queue, a schedule, a worker session. */
  async function seed(): Promise<void> {
    const options = '"queue":"billing","id":"invoice-17","type":"invoice","tries":1';
    await call('POST', '/jobs', `{${options},"data":${HOSTILE}}`);
    await fail('invoice-17', 'card_declined', '<b>declined</b>\n  at charge \u202e');
    for (const id of ['one', 'two']) {
      await call('POST', '/jobs', { queue: 'billing', id, type: 'invoice', tries: 1 });
      await fail(id, 'smtp', 'no route');
    }
    await call('POST', '/jobs', {
      jobs: [1, 2, 3].map((data) => ({ queue: 'mail', type: 'welcome', data })),
    });
    await call('POST', '/queues/report/pause');
    const schedule = { cron: '30 2 * * 1-5', tz: 'Europe/Berlin' };
    await call('PUT', '/recurring/nightly', { schedule, job: { queue: 'report' } });
    const info = { name: 'mailer', host: 'host-1', pid: 4_711, queues: ['mail'], concurrency: 8 };
    await call('POST', '/workers/mailer-1/heartbeat', { ttr_ms: 600_000, leases: [], info });
  }

  async function fail(id: string, group: string, message: string): Promise<void> {
    const answer = await call('POST', '/leases', { queues: ['billing'], worker: 'biller' });
    const [job] = (answer as { jobs: { id: string; lease: number }[] }).jobs;
    expect(job!.id).toBe(id);
    await call('POST', `/jobs/${id}/fail`, { lease: job!.lease, group, message });
  }

  const stateOf = async (id: string): Promise<unknown> => (await call('GET', `/jobs/${id}`)).state;

  /** Uses a page, and closes it. The pages must have had no exception, and broken no rule of their policy. */
  async function using(opening: Promise<Page>, use: (page: Page) => Promise<void>): Promise<void> {
    const page = await opening;
    try {
      await use(page);
    } finally {
      await page.context().close();
    }
    expect(browser.failures).toEqual([]);
  }

  it(
    'shows the data of a job as it was stored, and hostile texts as text',
    () =>
      using(browser.page('/n/shop/jobs/invoice-17'), async (page) => {
        const data = page.getByLabel('The data of the job', { exact: true });
        await data.getByText('12345678901234567890').waitFor();
        const text = (await data.textContent()) ?? '';
        for (const part of ['"a": 1', '"a": 2', '"total": 1.10', '<img src=x onerror=alert(1)>'])
          expect(text).toContain(part);
        expect(text).toContain(String.raw`"\u202eabc"`);
        expect(await page.locator('main img').count()).toBe(0);
        await page.getByRole('button', { name: 'as stored' }).click();
        expect(await data.textContent()).toBe(HOSTILE.slice(0, 65_536));
        const failure = page.getByLabel('Message of the newest failure');
        expect(await failure.textContent()).toBe('<b>declined</b>\n  at charge \\u{202e}');
      }),
    LIMIT_MS,
  );

  it(
    'names the cause of a dead job, and retries it by the remedy',
    () =>
      using(browser.page('/n/shop/jobs/one'), async (page) => {
        await page.getByText(/dead-letter queue of billing/).waitFor();
        await page.getByRole('button', { name: 'Run it again' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('Command line').click();
        expect(await dialog.locator('code').allTextContents()).toEqual([
          `curl -s -H "X-Token: $PUMPHOUSE_TOKEN" "$PUMPHOUSE_URL"/v1/shop/dead-letter/respawn -d '{"ids":["one"]}'`,
          'pumphouse job retry one --namespace shop',
        ]);
        await dialog.getByRole('button', { name: 'Run it again' }).click();
        await page.getByRole('status').getByText(/Done/).waitFor();
        expect(await stateOf('one')).toBe('ready');
        await page.locator('h1').getByText('ready').waitFor();
      }),
    LIMIT_MS,
  );

  it(
    'finds a dead job and retries it with the keyboard alone',
    () =>
      using(browser.page('/n/shop/workers'), async (page) => {
        await page.getByText('mailer-1').waitFor();
        for (const key of ['g', 'j']) await page.keyboard.press(key);
        await page.getByRole('link', { name: 'invoice-17' }).waitFor();
        await page.keyboard.press('/');
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.type('group');
        await page.keyboard.press('Tab');
        await page.keyboard.type('smtp');
        await page.keyboard.press('Enter');
        await page.getByRole('link', { name: 'invoice-17' }).waitFor({ state: 'detached' });
        await pressTabUntil(page, 'two');
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: 'Retry' }).waitFor();
        await pressTabUntil(page, 'Retry');
        await page.keyboard.press('Enter');
        await page.getByRole('dialog').waitFor();
        await pressTabUntil(page, 'Retry');
        await page.keyboard.press('Enter');
        await waitFor(async () => (await stateOf('two')) === 'ready');
      }),
    LIMIT_MS,
  );

  /** Presses Tab until the element with a text has the focus. */
  async function pressTabUntil(page: Page, text: string): Promise<void> {
    for (let i = 0; i < 80; i++) {
      if ((await page.evaluate(() => document.activeElement?.textContent.trim())) === text) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`80 tabs do not reach ${text}`);
  }

  it(
    'pauses a queue, changes its settings, and refuses wrong ones',
    () =>
      using(browser.page('/n/shop/queues/mail'), async (page) => {
        const dialog = page.getByRole('dialog');
        await page.getByRole('button', { name: 'Pause', exact: true }).click();
        await dialog.getByRole('button', { name: 'Pause mail' }).click();
        await page.locator('h1').getByText('paused').waitFor();
        expect(await call('GET', '/queues/mail')).toMatchObject({ paused_at: expect.any(String) as string });
        await page.getByRole('group', { name: 'Actions' }).getByRole('button', { name: 'Settings' }).click();
        await dialog.locator('[name=max_running]').fill('0');
        await dialog.getByRole('button', { name: /Save/ }).click();
        await dialog
          .getByRole('alert')
          .getByText(/whole number from 1/)
          .waitFor();
        await dialog.locator('[name=max_running]').fill('7');
        await dialog.getByRole('button', { name: /Save/ }).click();
        await dialog.waitFor({ state: 'hidden' });
        const queue = await call('GET', '/queues/mail');
        expect(queue).toMatchObject({ max_running: 7, max_running_per_key: null });
      }),
    LIMIT_MS,
  );

  it(
    'counts before it purges, and deletes the chosen states only',
    () =>
      using(browser.page('/n/shop/queues/mail'), async (page) => {
        await page.getByRole('button', { name: 'Purge' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('Now in the queue: 3 ready.').waitFor();
        await dialog.getByRole('button', { name: 'Purge mail' }).click();
        await dialog.getByText('Choose at least one state.').waitFor();
        await dialog.getByLabel('ready').check();
        await dialog.getByRole('button', { name: 'Purge mail' }).click();
        await page.getByText('3 jobs of mail were deleted.').waitFor();
        expect(await call('GET', '/queues/mail')).toMatchObject({ counts: { ready: 0 } });
      }),
    LIMIT_MS,
  );

  it(
    'publishes a copy with the same digits',
    () =>
      using(browser.page('/n/shop/jobs/invoice-17'), async (page) => {
        await page.getByRole('button', { name: 'Run a copy' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.locator('[name=queue]').fill('copies');
        await dialog.getByRole('button', { name: 'Run a copy' }).click();
        await page.getByRole('link', { name: 'copies' }).waitFor();
        const { items } = (await call('GET', '/jobs?queue=copies')) as { items: { id: string }[] };
        const { text } = await app.get(`/v1/shop/jobs/${items[0]!.id}`, { token });
        expect(text).toContain(`"data":${HOSTILE}`);
      }),
    LIMIT_MS,
  );

  it(
    'shows lines that print what the page shows',
    () =>
      using(browser.page('/n/shop/queues/billing'), async (page) => {
        await page.getByLabel('Jobs by state').waitFor();
        await page.getByText('Command line').last().click();
        const lines = await page.locator('details[open] code').allTextContents();
        expect(lines).toHaveLength(2);
        const states = page.getByLabel('Jobs by state');
        const dead = await states.getByRole('link', { name: /dead/ }).locator('strong').textContent();
        for (const line of lines)
          expect(await run(line)).toMatchObject({ queue: 'billing', counts: { dead: Number(dead) } });
      }),
    LIMIT_MS,
  );

  /** Runs a line as an operator would (the server is in this process, so it must not block), with the address and the token in the environment. */
  async function run(line: string): Promise<unknown> {
    const program = `${process.execPath} ${join(ROOT, 'dist', 'cli', 'pumphouse.js')}`;
    const text = line.startsWith('pumphouse ') ? `${line.replace('pumphouse', program)} --json` : line;
    const url = `http://127.0.0.1:${String(app.port)}`;
    const env = { PATH: process.env.PATH, PUMPHOUSE_URL: url, PUMPHOUSE_TOKEN: token };
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', text], { env });
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  }

  it(
    'reports a server that does not answer, and goes on when it is back',
    () =>
      using(browser.page('/n/shop/jobs'), async (page) => {
        await page.getByRole('link', { name: 'invoice-17' }).waitFor();
        await page.context().setOffline(true);
        await page
          .getByRole('alert')
          .getByText(/the server does not answer/)
          .waitFor();
        expect(await page.getByRole('link', { name: 'invoice-17' }).count()).toBe(1);
        await page.context().setOffline(false);
        await page.getByRole('alert').waitFor({ state: 'detached' });
      }),
    LIMIT_MS,
  );

  const VIEWS = [
    ...['/n/shop/queues/billing', '/n/shop/jobs', '/n/shop/jobs/invoice-17', '/n/shop/schedules'],
    ...['/n/shop/workers', '/n/shop/targets', '/n/shop/tokens', '/n/shop/live', '/redis', '/nothing'],
  ];

  it.each(VIEWS)(
    'breaks no rule of accessibility in %s, in light and dark, and fits 360 pixels',
    async (route) => {
      for (const scheme of ['light', 'dark'] as const) {
        await using(browser.page(route, { scheme }), async (page) => {
          await isShown(page);
          expect(await brokenRules(page)).toEqual([]);
        });
      }
      await using(browser.page(route, { width: 360 }), async (page) => {
        await isShown(page);
        expect(await overflowOf(page)).toBe(0);
      });
    },
    LIMIT_MS,
  );

  async function isShown(page: Page): Promise<void> {
    await page.locator('h1').first().waitFor();
    await page.locator('.loading').first().waitFor({ state: 'detached' });
  }
});
