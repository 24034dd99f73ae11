import type { Locator, Page } from 'playwright-core';
import { randomFrom } from '../../../../test/support/random.js';
import { SEED } from '../../../../test/support/scale.js';
import { CHROMIUM, overflowOf } from '../browser.js';
import { ConsoleApp } from '../console-app.js';

/** How long it acts, in minutes. */
const MINUTES = Number(process.env['PUMPHOUSE_CONSOLE_MINUTES'] ?? 1);
const LIMIT_MS = MINUTES * 60_000;
/** What an operator can use. Links to other sites are left out. */
const CONTROLS = 'a[href^="#"], button, input, select, textarea, summary';
/** Controls may be replaced by an answer of the server while they are used. */
const USABLE_WITHIN_MS = 1_000;
/** After so many actions in a row that could not be done the page is stuck. */
const MOST_REFUSED = 25;
/** New jobs after so many actions: others have been cancelled and deleted. */
const SEED_EVERY = 150;
const PRINTED = 40;
const TEXTS = [
  ...['', 'mail', 'billing', 'invoice-1', '*', '5', '-1', '0', '1e9', '9007199254740993', '2026-02-30'],
  ...[
    '{"a":1,"a":2}',
    '{',
    'null',
    '<img src=x onerror=alert(1)>',
    '\u202eabc',
    '%zz',
    'ä/ö?#&',
    '* * * * *',
  ],
  ...['x'.repeat(3_000), '__proto__', 'http://127.0.0.1:9/hook'],
];
const whereThere = CHROMIUM === null ? describe.skip : describe;

whereThere('the console under random actions', () => {
  let at: ConsoleApp;
  beforeAll(async () => {
    at = await ConsoleApp.open();
    await at.makeToken();
  }, 300_000);
  afterAll(() => at.stop());

  it(
    `has no exception, no page wider than its window and no page without a way on (seed ${SEED})`,
    async () => {
      const page = await at.browser.page();
      page.setDefaultTimeout(USABLE_WITHIN_MS);
      page.on('dialog', (dialog) => void dialog.dismiss());
      const clicker = new Clicker(page, randomFrom(SEED));
      const untilMs = Date.now() + LIMIT_MS;
      try {
        for (let i = 0; Date.now() < untilMs; i++) {
          if (i % SEED_EVERY === 0) await seed(at, i);
          await clicker.act();
          expect(at.browser.failures).toEqual([]);
        }
      } catch (cause) {
        throw new Error(`after these actions:\n${clicker.last()}`, { cause });
      }
      console.log(`${clicker.done} actions on ${clicker.pages.size} pages, ${clicker.refused} not possible`);
      expect(clicker.done).toBeGreaterThan(MINUTES * 20);
    },
    LIMIT_MS + 300_000,
  );
});

/** Does one random action after the other, and checks the page after each. */
class Clicker {
  done = 0;
  refused = 0;
  readonly pages = new Set<string>();
  private inARow = 0;
  private readonly actions: string[] = [];

  constructor(
    private readonly page: Page,
    private readonly next: () => number,
  ) {}

  last = (): string => this.actions.slice(-PRINTED).join('\n');

  async act(): Promise<void> {
    const [what, action] = await this.choose();
    this.actions.push(`${new URL(this.page.url()).hash || '#/'}: ${what}`);
    try {
      await action();
      this.done++;
      this.inARow = 0;
    } catch (error) {
      this.refused++;
      this.actions.push(
        `  not possible: ${error instanceof Error ? error.message.split('\n')[0] : 'unknown'}`,
      );
      if (++this.inARow > MOST_REFUSED)
        throw new Error('no control of the page can be used', { cause: error });
    }
    await this.check();
  }

  private async choose(): Promise<[string, () => Promise<unknown>]> {
    const { page } = this;
    const dice = this.next();
    if (dice < 0.05) return ['press Escape', () => page.keyboard.press('Escape')];
    if (dice < 0.08) return ['go back', () => page.goBack()];
    if (dice < 0.1) return ['reload', () => page.reload()];
    if (dice < 0.13) {
      const width = this.of([360, 640, 1_280]);
      return [`${width} pixels`, () => page.setViewportSize({ width, height: 860 })];
    }
    const dialog = page.locator('dialog[open]').last();
    const within = (await dialog.count()) > 0 ? dialog : page.locator('body');
    const controls = within.locator(CONTROLS).filter({ visible: true });
    const count = await controls.count();
    if (count === 0) return ['open the first page', () => page.goto(page.url().replace(/#.*/, '#/'))];
    const control = controls.nth(Math.floor(this.next() * count));
    return this.use(control);
  }

  private async use(control: Locator): Promise<[string, () => Promise<unknown>]> {
    const { tag, type, name } = await control
      .evaluate((element) => ({
        tag: element.tagName,
        type: element.getAttribute('type') ?? 'text',
        name: (element.getAttribute('aria-label') ?? element.textContent.trim()) || element.id,
      }))
      .catch(() => ({ tag: 'GONE', type: '', name: '' }));
    const label = name.slice(0, 60);
    if (tag === 'SELECT') {
      const place = this.next();
      return [
        `choose in ${label}`,
        async () => {
          const options = await control.locator('option').count();
          await control.selectOption({ index: Math.floor(place * options) });
        },
      ];
    }
    if (tag === 'TEXTAREA' || (tag === 'INPUT' && !['checkbox', 'radio'].includes(type))) {
      const text = this.of(TEXTS);
      return [`write ${JSON.stringify(text.slice(0, 30))} in ${label}`, () => control.fill(text)];
    }
    return [`click ${tag} ${label}`, () => control.click()];
  }

  /** The page shows a heading and links, and is as wide as its window. */
  private async check(): Promise<void> {
    const { page } = this;
    await page.locator('h1').first().waitFor({ timeout: 30_000 });
    const { hash } = new URL(page.url());
    this.pages.add(hash.replace(/\?.*/, ''));
    expect([hash, await overflowOf(page)]).toEqual([hash, 0]);
    expect(await page.locator('nav a[href^="#"]').count()).toBeGreaterThan(0);
  }

  private of<T>(all: readonly T[]): T {
    return all[Math.floor(this.next() * all.length)]!;
  }
}

/** Something on each page: jobs in several states, a schedule, a worker, a target. */
async function seed(at: ConsoleApp, round: number): Promise<void> {
  const id = `invoice-${String(round)}`;
  const jobs = Array.from({ length: 20 }, (_, i) => ({
    queue: i % 2 === 0 ? 'mail' : 'billing',
    type: 'welcome',
    data: { i, text: TEXTS.join(' ') },
    ...(i % 5 === 0 ? { delay_ms: 600_000 } : {}),
  }));
  await at.call('POST', '/jobs', { jobs });
  await at.call('POST', '/jobs', { queue: 'failing', id, tries: 1, tags: ['a', 'b'], data: { round } });
  const { jobs: leased = [] } = (await at.call('POST', '/leases', { queues: ['failing'], worker: 'w' })) as {
    jobs?: { id: string; lease: number }[];
  };
  for (const { id: its, lease } of leased)
    await at.call('POST', `/jobs/${its}/fail`, { lease, group: TEXTS[13], message: TEXTS.join('\n') });
  await at.call('POST', '/jobs', { queue: 'parcel', id: `${id}-after`, depends_on: [id] });
  await at.call('PUT', '/recurring/nightly', {
    schedule: { cron: '30 2 * * 1-5', tz: 'Europe/Berlin' },
    job: { queue: 'report' },
  });
  const info = { name: 'mailer', host: 'host-1', pid: 4_711, queues: ['mail'], concurrency: 8 };
  await at.call('POST', '/workers/mailer-1/heartbeat', { ttr_ms: 600_000, leases: [], info });
}
