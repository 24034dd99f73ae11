import { waitFor } from '../../../../test/support/redis.js';
import { brokenRules, CHROMIUM, type Console } from '../browser.js';
import { ConsoleApp, pressTabUntil } from '../console-app.js';
import { HOSTILE, seed, seedTypes } from '../seed.js';

const LIMIT_MS = 300_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

whereThere('the console in a browser', () => {
  let at: ConsoleApp;
  let browser: Console;

  beforeAll(async () => {
    at = await ConsoleApp.open({ PUMPHOUSE_EVENTS__KEEP_MS: '2000' });
    ({ browser } = at);
    await at.makeToken();
  }, LIMIT_MS);
  afterAll(() => at.stop());

  const call = (...of: Parameters<ConsoleApp['call']>) => at.call(...of);
  const stateOf = (id: string): Promise<unknown> => at.stateOf(id);
  const using = (...of: Parameters<ConsoleApp['using']>): Promise<void> => at.using(...of);

  it(
    'shows the lines of the first job while there is none, and the queue once they have run',
    () =>
      using(browser.page(), async (page) => {
        const lines = page.locator('.first code');
        await lines.first().waitFor();
        const [addresses = '', ...others] = await lines.allTextContents();
        expect(others).toHaveLength(2);
        const api = `http://127.0.0.1:${String(at.app.port)}`;
        await at.run([addresses.replace('URL=…', `URL=${api}`), ...others].join('\n'));
        await page.getByRole('link', { name: 'mail', exact: true }).waitFor();
        expect(await page.locator('.first').count()).toBe(0);
        expect(await brokenRules(page)).toEqual([]);
      }),
    LIMIT_MS,
  );

  describe('with jobs', () => {
    beforeAll(() => seed(at));

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

    it(
      'pauses a queue, changes its settings, and refuses wrong ones',
      () =>
        using(browser.page('/n/shop/queues/mail'), async (page) => {
          const dialog = page.getByRole('dialog');
          await page.getByRole('button', { name: 'Pause', exact: true }).click();
          await dialog.getByRole('button', { name: 'Pause mail' }).click();
          await page.locator('h1').getByText('paused').waitFor();
          expect(await call('GET', '/queues/mail')).toMatchObject({
            paused_at: expect.any(String) as string,
          });
          await page
            .getByRole('group', { name: 'Actions' })
            .getByRole('button', { name: 'Settings' })
            .click();
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
          expect(queue).toMatchObject({ max_running: 7, max_running_per_key: null, order: null });
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
      'lists the types of a queue that is leased by type, and says which of them no worker asks for',
      async () => {
        await seedTypes(at);
        await using(browser.page('/n/shop/queues/typed'), async (page) => {
          const types = page.getByLabel('Types', { exact: true });
          await types.getByRole('row').filter({ hasText: 'sms' }).getByText('–').waitFor();
          const why = page.getByLabel('Why', { exact: true });
          await why.getByText('other types of its jobs: fax (1 ready) and sms (1 ready)').waitFor();
          await types.getByRole('link', { name: 'fax' }).click();
          await page.getByRole('link', { name: 'job-fax' }).waitFor();
          expect(await page.getByRole('link', { name: 'job-sms' }).count()).toBe(0);
        });
      },
      LIMIT_MS,
    );

    it(
      'lists the fair keys of a queue, and pauses and resumes one',
      async () => {
        await call('PATCH', '/queues/tenants', { fair: true });
        const jobs = ['acme', 'acme', 'zeta'].map((fair_key) => ({ queue: 'tenants', fair_key }));
        await call('POST', '/jobs', { jobs });
        await using(browser.page('/n/shop/queues/tenants'), async (page) => {
          const keys = page.getByLabel('Fair keys', { exact: true });
          const row = keys.getByRole('row').filter({ hasText: 'acme' });
          expect(await row.locator('.num').textContent()).toBe('2');
          await row.getByRole('button', { name: 'Pause' }).click();
          const dialog = page.getByRole('dialog');
          await dialog.locator('[name=note]').fill('asked for');
          await dialog.locator('[name=minutes]').fill('60');
          await dialog.getByRole('button', { name: 'Pause jobs of tenants' }).click();
          const paused = page.getByLabel('Paused jobs', { exact: true }).getByRole('row');
          await paused.filter({ hasText: 'acme' }).getByText('asked for').waitFor();
          expect(await call('GET', '/queues/tenants')).toMatchObject({
            pauses: [{ fair_key: 'acme', note: 'asked for' }],
          });
          await paused.getByRole('button', { name: 'Resume' }).click();
          await dialog.getByRole('button', { name: 'Resume jobs of tenants' }).click();
          await page.getByLabel('Paused jobs', { exact: true }).waitFor({ state: 'detached' });
          expect(await call('GET', '/queues/tenants')).toMatchObject({ pauses: [] });
        });
      },
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
          const { text } = await at.app.get(`/v1/shop/jobs/${items[0]!.id}`, { token: at.token });
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
            expect(await runJson(line)).toMatchObject({ queue: 'billing', counts: { dead: Number(dead) } });
        }),
      LIMIT_MS,
    );

    const runJson = async (line: string): Promise<unknown> =>
      JSON.parse(await at.run(line.startsWith('pumphouse ') ? `${line} --json` : line));

    it(
      'reports a server that does not answer, and goes on when it is back',
      () =>
        using(browser.page('/n/shop/jobs?queue=parcel'), async (page) => {
          await page.getByRole('link', { name: 'bill', exact: true }).waitFor();
          await page.context().setOffline(true);
          await page
            .getByRole('alert')
            .getByText(/the server does not answer/)
            .waitFor();
          expect(await page.getByRole('link', { name: 'bill', exact: true }).count()).toBe(1);
          await page.context().setOffline(false);
          await page.getByRole('alert').waitFor({ state: 'detached' });
        }),
      LIMIT_MS,
    );

    it(
      'shows why jobs died by group, and respawns a group at a rate that can be stopped',
      () =>
        using(browser.page('/n/shop/dead'), async (page) => {
          await publishDead('slow', 40);
          const row = page.getByRole('row').filter({ hasText: 'slow_disk' });
          await row.getByText('disk 39 is slow').waitFor();
          expect(await row.getByRole('cell').first().textContent()).toBe('40');
          await row.getByRole('img', { name: '40 died within 24 hours' }).waitFor();
          await row.getByRole('button', { name: 'Respawn' }).click();
          const dialog = page.getByRole('dialog');
          await dialog.getByText(/^40 jobs match now; the first: slow-/).waitFor();
          await dialog.locator('[name=rate]').fill('0');
          await dialog.getByRole('button', { name: /Respawn/ }).click();
          await dialog.getByText(/whole number from 1 to 10000/).waitFor();
          await dialog.locator('[name=rate]').fill('1');
          await dialog.getByText('Command line').click();
          expect(await dialog.locator('code').last().textContent()).toBe(
            'pumphouse dead respawn --group slow_disk --rate 1 --yes --namespace shop',
          );
          await dialog.getByRole('button', { name: /Respawn/ }).click();
          const operation = page.getByRole('row').filter({ hasText: 'slow_disk' }).first();
          await operation.getByRole('progressbar').waitFor();
          await operation.getByRole('button', { name: 'Stop' }).click();
          await dialog.getByRole('button', { name: /Stop/ }).click();
          await operation.getByText('stopped').first().waitFor();
          const { counts } = (await call('GET', '/queues/slow')) as {
            counts: { ready: number; dead: number };
          };
          expect(counts.dead).toBeGreaterThan(0);
          expect(counts.ready + counts.dead).toBe(40);
        }),
      LIMIT_MS,
    );

    /** Jobs of a queue that died of the group slow_disk. */
    async function publishDead(queue: string, count: number): Promise<void> {
      const jobs = Array.from({ length: count }, (_, i) => ({
        queue,
        id: `${queue}-${String(i)}`,
        type: 't',
      }));
      await call('POST', '/jobs', { jobs });
      for (const [i, { id }] of jobs.entries())
        await at.fail(queue, id, 'slow_disk', `disk ${String(i)} is slow`);
    }

    it(
      'shows events as they happen, only while the page reads them, and stops a stream that is too fast',
      () =>
        using(browser.page('/n/shop/workers'), async (page) => {
          const events = (): Promise<number> => at.redis.xlen('{shop}:events');
          await call('POST', '/jobs', { queue: 'live', type: 'before' });
          expect(await events()).toBe(0);
          await page.getByText('mailer-1').waitFor();
          for (const key of ['g', 'l']) await page.keyboard.press(key);
          await page.getByText('Connected').waitFor();
          await call('POST', '/jobs', { queue: 'live', id: 'seen', type: 'after' });
          await page.getByRole('link', { name: 'seen' }).waitFor();
          expect(await events()).toBeGreaterThan(0);
          await addEvents(1_001);
          await page.getByRole('alert').getByText('More than 1000 events have happened').waitFor();
          expect(await brokenRules(page)).toEqual([]);
          await page.getByRole('button', { name: 'Go on' }).click();
          await page.getByText('Connected').waitFor();
          await call('POST', '/jobs', { queue: 'live', id: 'later', type: 'after' });
          await page.getByRole('link', { name: 'later' }).waitFor();
          for (const key of ['g', 'w']) await page.keyboard.press(key);
          await page.getByText('mailer-1').waitFor();
          // The server writes them for `events.keep_ms` after the last reader has gone.
          await waitFor(async () => {
            const before = await events();
            await call('POST', '/jobs', { queue: 'live', type: 'after' });
            return (await events()) <= before;
          }, 60_000);
        }),
      LIMIT_MS,
    );

    /** Adds events of one millisecond: how fast jobs are published depends on the machine. */
    async function addEvents(count: number): Promise<void> {
      const [[, fields] = ['', []]] = await at.redis.xrevrange('{shop}:events', '+', '-', 'COUNT', 1);
      const ms = String(Date.now() + 1_000);
      const adding = at.redis.multi();
      for (let i = 1; i <= count; i++) adding.xadd('{shop}:events', `${ms}-${String(i)}`, ...fields);
      await adding.exec();
    }

    it(
      'rotates a token, limits it and changes quotas, and never shows the text of an old token',
      () =>
        using(browser.page('/n/shop/tokens'), async (page) => {
          const made = (await at.app.admin('POST', '/token/shop?description=rotated')).json as {
            token: string;
          };
          const dialog = page.getByRole('dialog');
          const row = page.getByRole('row').filter({ hasText: 'rotated' }).first();
          await page.reload();
          await row.getByRole('button', { name: 'Limit' }).click();
          await dialog.locator('[name=read]').fill('many');
          await dialog.getByRole('button', { name: /Save/ }).click();
          await dialog.getByText(/whole number from 1/).waitFor();
          await dialog.locator('[name=read]').fill('100');
          await dialog.getByRole('button', { name: /Save/ }).click();
          await row.getByText('100 leases in 1 s').waitFor();
          const limit = await at.app.admin('GET', `/token/shop/${made.token}/limit`);
          expect(limit.json).toEqual({ interval: 1, read: 100, write: 0 });

          await row.getByRole('button', { name: 'Rotate' }).click();
          await dialog.getByText('Command line').click();
          const shown = await dialog.locator('code').last().textContent();
          expect(shown).toBe('pumphouse token rotate shop "$TOKEN" --grace 1h');
          await dialog.getByRole('button', { name: /Rotate/ }).click();
          const next = (await page.getByLabel('The new token').locator('code').textContent()) ?? '';
          const details = await at.app.admin('GET', `/token/shop/${next}`);
          expect(details.json).toMatchObject({ description: 'rotated', limit: { read: 100 } });
          await page.getByText('replaced').waitFor();
          expect(await page.content()).not.toContain(made.token);

          await page.getByLabel('Quotas', { exact: true }).getByRole('button', { name: 'edit' }).click();
          await dialog.locator('[name=max_jobs_per_queue]').fill('5000');
          await dialog.getByRole('button', { name: /Save/ }).click();
          await page
            .getByRole('row')
            .filter({ hasText: 'max jobs per queue' })
            .getByText(/^5.000$/)
            .waitFor();
          const { json } = await at.app.admin('GET', '/namespaces/shop/quotas');
          expect(json).toMatchObject({ quotas: { max_jobs_per_queue: { value: 5_000 } } });
        }),
      LIMIT_MS,
    );

    it(
      'shows the dependencies of a job as a picture whose jobs the keyboard reaches',
      () =>
        using(browser.page('/n/shop/jobs/ship'), async (page) => {
          await page.getByRole('group', { name: 'ship waits for 2 jobs, and 1 wait for it' }).waitFor();
          await pressTabUntil(page, 'pack ready');
          await page.keyboard.press('Enter');
          await page.locator('h1').getByText('pack').waitFor();
          await pressTabUntil(page, 'ship blocked');
          await page.getByText('As a list: 1 jobs').click();
          await page.getByRole('heading', { name: 'These wait for it' }).waitFor();
        }),
      LIMIT_MS,
    );

    it(
      'draws its charts anew when the system turns dark',
      () =>
        using(browser.page('/n/shop/queues/billing'), async (page) => {
          const chart = page.locator('.plot canvas').first();
          await chart.waitFor();
          await chart.evaluate((canvas) => canvas.setAttribute('data-drawn', 'light'));
          await page.emulateMedia({ colorScheme: 'dark' });
          await page.locator('.plot canvas:not([data-drawn])').first().waitFor();
          await page.locator('.plot canvas[data-drawn]').waitFor({ state: 'detached' });
        }),
      LIMIT_MS,
    );
  });
});
