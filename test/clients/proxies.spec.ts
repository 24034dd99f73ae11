import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/setup/free-port.mjs';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { languagesIn } from './languages.js';
import { Player, type Scenario, type Traffic } from './scenario.js';

const LIMIT_MS = 600_000;
/** Where Debian has servers, which is not on the PATH of every user. */
const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`;
/** Longer than any test takes. */
const WAIT = 'timeout client 60s\n  timeout server 60s\n  timeout connect 5s';

interface Proxy {
  readonly name: string;
  /** Its configuration: requests go to these ports in turn. */
  config(port: number, servers: readonly number[], folder: string): string;
  argv(file: string, folder: string): readonly string[];
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'HAProxy',
    config: (port, servers) => `defaults
  mode http
  ${WAIT}
frontend api
  bind 127.0.0.1:${String(port)}
  default_backend servers
backend servers
  balance roundrobin
${servers.map((one) => `  server s${String(one)} 127.0.0.1:${String(one)}`).join('\n')}
`,
    argv: (file) => ['haproxy', '-db', '-f', file],
  },
  {
    name: 'nginx',
    config: (port, servers, folder) => `daemon off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n  ')}
  upstream servers { ${servers.map((one) => `server 127.0.0.1:${String(one)};`).join(' ')} keepalive 8; }
  server {
    listen 127.0.0.1:${String(port)};
    location / {
      proxy_pass http://servers;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_read_timeout 60s;
      # As many operators set it: a client that hangs up does not end its request.
      proxy_ignore_client_abort on;
    }
  }
}
`,
    argv: (file, folder) => ['nginx', '-e', 'stderr', '-p', folder, '-c', file],
  },
];

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'takes no job after it has stopped',
    steps: [
      {
        do: 'work',
        with: { queues: ['<queue>'], concurrency: 4, handlers: { '*': {} } },
        gives: { worker: '<worker>' },
      },
      { api: 'GET workers/<worker>' },
      { pause_ms: 500 },
      { do: 'stop' },
      { api: 'POST jobs', body: { queue: '<queue>' }, status: 201, gives: { id: '<job>' } },
      { pause_ms: 300 },
      { api: 'GET jobs/<job>', gives: { state: 'ready', attempts: 0 } },
    ],
  },
  {
    name: 'takes no job after an operator has made it quiet',
    steps: [
      {
        do: 'work',
        with: {
          ...{ queues: ['<queue>'], concurrency: 4, handlers: { '*': {} }, ttr_ms: 1_500 },
          // Longer than the step `idle` waits: the worker must end its request.
          wait_ms: 50_000,
        },
        gives: { worker: '<worker>' },
      },
      { api: 'GET workers/<worker>' },
      { api: 'POST workers/<worker>/quiet', status: 204 },
      { idle: '<worker>' },
      { api: 'POST jobs', body: { queue: '<queue>' }, status: 201, gives: { id: '<job>' } },
      { pause_ms: 300 },
      { api: 'GET jobs/<job>', gives: { state: 'ready', attempts: 0 } },
    ],
  },
];

/** Requests that have reached the servers. */
class ServerTraffic {
  readonly open = new Map([['leases', { now: 0 }]]);
  private readonly paths: string[] = [];

  watch(server: Server): void {
    server.on('request', ({ url = '' }, response) => {
      const [path = ''] = url.split('?');
      this.paths.push(path);
      const open = path.endsWith('/leases') ? this.open.get('leases') : undefined;
      if (open === undefined) return;
      open.now++;
      response.on('close', () => open.now--);
    });
  }

  of(pathEnd: string): string[] {
    return this.paths.filter((path) => path.endsWith(pathEnd));
  }
}

describe.each(PROXIES)('a worker behind the proxy $name, with two servers', (proxy) => {
  const folder = mkdtempSync(join(tmpdir(), 'pumphouse-proxy-'));
  const apps: TestApp[] = [];
  const traffic = new ServerTraffic();
  const players: Player[] = [];
  let child: ChildProcess | undefined;
  let languages: Awaited<ReturnType<typeof languagesIn>>;
  let url: string;

  beforeAll(async () => {
    languages = await languagesIn(folder);
    apps.push(await TestApp.start(), await TestApp.start());
    for (const { server } of apps) traffic.watch(server.api.app.getHttpServer());
    const port = await freePort();
    url = `http://127.0.0.1:${String(port)}`;
    const file = join(folder, 'proxy.conf');
    mkdirSync(join(folder, 'logs'));
    const config = proxy.config(
      port,
      apps.map((app) => app.port),
      folder,
    );
    writeFileSync(file, config);
    const [program = '', ...args] = proxy.argv(file, folder);
    const started = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, PATH },
    });
    started.on('error', (error) => console.error(`Debian: apt-get install ${program}`, error));
    child = started;
    await waitFor(() => isOpen(port), 20_000);
  }, LIMIT_MS);
  afterAll(async () => {
    for (const player of players) player.stop();
    child?.kill('SIGTERM');
    await Promise.all(apps.map((app) => app.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(SCENARIOS)(
    'passes the scenario $name',
    async (scenario) => {
      const through: Traffic = {
        ...{ url, rule: () => 'pass', seen: [], open: traffic.open },
        of: (pathEnd) => traffic.of(pathEnd),
      };
      const own = languages.map((language) => new Player(language, apps[0]!, through));
      players.push(...own);
      // All errors, not the first one alone.
      const errors = await Promise.all(
        own.map((player) => player.play(scenario).catch((error: unknown) => error)),
      );
      expect(errors).toEqual(own.map(() => undefined));
    },
    LIMIT_MS,
  );
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
