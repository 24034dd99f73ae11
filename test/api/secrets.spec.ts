import { once } from 'node:events';
import { connect } from 'node:net';
import { BuiltServer } from '../support/built-server.js';
import { type RedisProcess, startRedis, waitFor } from '../support/redis.js';

const ACCOUNT = 'ops:the-password-of-ops';
const REDIS_PASSWORD = 'the-password-of-redis';
const BODY = 'the-body-of-a-job';
const BASIC = Buffer.from(ACCOUNT).toString('base64');
const HOST = 'Host: localhost\r\nConnection: close\r\n';

/** Everything that a server says, at its most talkative, while it is asked in every manner with real and wrong secrets. */
describe('secrets', () => {
  let redis: RedisProcess;
  let server: BuiltServer;
  /** What clients of the API were told, heads and bodies. */
  let output = '';

  beforeAll(async () => {
    redis = await startRedis();
    const socket = connect(redis.port, '127.0.0.1');
    socket.end(`CONFIG SET requirepass ${REDIS_PASSWORD}\r\n`);
    await once(socket.resume(), 'close');
    server = await BuiltServer.create({
      PUMPHOUSE_LOG__LEVEL: 'trace',
      PUMPHOUSE_LOG__ACCESS: 'true',
      PUMPHOUSE_ADMIN__ACCOUNTS__OPS: ACCOUNT.split(':')[1]!,
      PUMPHOUSE_POOLS__DEFAULT__URL: `redis://:${REDIS_PASSWORD}@127.0.0.1:${String(redis.port)}`,
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '300',
      PUMPHOUSE_SERVER__REQUEST_TIMEOUT_MS: '1000',
    });
    await server.start();
  });

  afterAll(async () => {
    await server.remove();
    await redis.stop();
  });

  /** Sends bytes, and hears all that comes until the server or half a second ends it. */
  async function raw(port: number, bytes: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.setTimeout(500, () => socket.destroy());
    socket.write(bytes);
    await once(socket, 'close');
    return received;
  }

  const admin = (method: string, path: string, body?: string): Promise<Response> =>
    fetch(server.adminUrl + path, {
      method,
      headers: { Authorization: `Basic ${BASIC}` },
      ...(body === undefined ? {} : { body }),
    });

  async function make(query = ''): Promise<string> {
    const answer = await admin('POST', `/token/ns?description=d${query}`);
    return ((await answer.json()) as { token: string }).token;
  }

  /** Requests in which a token stands wherever one can stand, or could be put by mistake. */
  function requests(token: string): string[] {
    const body = `Content-Length: ${String(BODY.length)}\r\n\r\n${BODY}`;
    const heads = [
      `PUT /api/ns/q HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n${body}`,
      `PUT /api/ns/%71 HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n${body}`,
      `PUT /api/ns/q?ttl=x HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n${body}`,
      `PUT /api/ns/q/bulk HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n${body}`,
      `PUT /api/ns/q HTTP/1.1\r\n${HOST}X-Token: ${token}\r\nContent-Length: 99999999\r\n\r\n${BODY}`,
      `POST /v1/ns/acks HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n${body}`,
      `POST /v1/ns/nothing?token=${token} HTTP/1.1\r\n${HOST}${body}`,
      `PATCH /api/ns/q?token=${token} HTTP/1.1\r\n${HOST}${body}`,
      `GET /api/n.s/q?token=${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /api/ns/q%zz?token=${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /nowhere?x=1&token=${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /token/ns/${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET http://localhost/token/ns/${token}/limit HTTP/1.1\r\n${HOST}\r\n`,
      `GET /tok%65n/ns/${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET http://localhost/api/ns/q/size?token=${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /api/ns/q?token=${token}&token=${token} HTTP/1.1\r\n\r\n`,
      `GET /api/ns/q/size?token=nopool:${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /api/ns/q/size HTTP/1.1\r\n${HOST}X-Token: ${token}\r\nX-Token: ${token}\r\n\r\n`,
      `GET /api/ns/q/size HTTP/1.1\r\n${HOST}X-Token : ${token}\r\n\r\n`,
      `GET /api/ns/q/size HTTP/1.1\r\n${HOST}X-Token: ${token}\0\r\n\r\n`,
      `GET /api/ns/q/size HTTP/1.1\r\n${HOST}X-Token: ${token}\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`,
      `GET /api/ns/q/size?token=${token} HTTP/9.9\r\n${HOST}\r\n`,
      `GET /api/ns/${token} HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n\r\n`,
      `GET /api/ns/q/job/${token} HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n\r\n`,
      `GET /api/${token}/q?token=${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /api/ns/q/size?token%3D${token} HTTP/1.1\r\n${HOST}\r\n`,
      `GET /api/ns/q/size?${token} HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n\r\n`,
      `NONSENSE /api/ns/q?token=${token}\r\n\r\n`,
      `GET /api/ns/q?ttr=x HTTP/1.1\r\n${HOST}Authorization: Basic ${BASIC}\r\nX-Token: ${token}\r\n\r\n`,
    ];
    const names = ['token', 'Token', 'TOKEN', '%74oken', 'tok%65n', 'x-token', 'access_token', 'x;token'];
    for (const name of names)
      heads.push(`GET /api/ns/q/size?a=b&${name}=${token}&c=d HTTP/1.1\r\n${HOST}\r\n`);
    return heads;
  }

  it('are in no log line, metric or answer after 30 kinds of requests, with Redis up and down', async () => {
    const token = await make();
    const limited = await make('&verbs=publish&queues=other');
    await admin('PUT', `/token/ns/${token}/limit`, '{"read":1,"write":0,"interval":600}');
    const revoked = await make();
    await admin('DELETE', `/token/ns/${revoked}`);
    const rotated = await make();
    await admin('POST', `/token/ns/${rotated}/rotate?grace=1h`);
    const wrong = [`${token}x`, token.slice(1), token.toLowerCase()];
    const secrets = [token, limited, revoked, rotated, ...wrong];
    const play = async (): Promise<void> => {
      const all = secrets.flatMap(requests);
      for (let i = 0; i < all.length; i += 50) {
        const answers = await Promise.all(all.slice(i, i + 50).map((bytes) => raw(server.apiPort, bytes)));
        output += answers.join('\n');
      }
    };
    await play();
    // A limit that is used up says whose it is, by four characters.
    for (let i = 0; i < 3; i++)
      output += await raw(server.apiPort, `GET /api/ns/q HTTP/1.1\r\n${HOST}X-Token: ${token}\r\n\r\n`);
    expect(output).toContain(`token(${token.slice(0, 4)}…)`.replace('…', '\\u2026'));
    for (const head of [`Authorization: Basic ${BASIC.slice(0, -2)}\r\n`, 'Authorization: Bearer x\r\n', ''])
      output += await raw(server.adminPort, `DELETE /token/ns/${token} HTTP/1.1\r\n${HOST}${head}\r\n`);
    const metrics = await (await admin('GET', '/metrics')).text();
    await redis.kill9();
    await play();
    await waitFor(() => server.output.includes('127.0.0.1'));
    await admin('DELETE', `/token/ns/${token}`);

    const log = server.output;
    for (const line of ['"audit"', '"access"', '"status":401', '"status":503', '"status":429', '[redacted]'])
      expect({ line, isThere: log.includes(line) }).toEqual({ line, isThere: true });
    // The alphabet of a token is that of request ids: eight characters of one are no chance.
    const forbidden = secrets.flatMap((secret) => [
      secret.slice(0, 8),
      secret.slice(5, 15),
      secret.slice(-10),
    ]);
    for (const secret of [...forbidden, BODY, BASIC, ACCOUNT.split(':')[1]!, REDIS_PASSWORD])
      for (const [where, text] of Object.entries({ log, text: output, metrics })) {
        const at = text.indexOf(secret);
        const found = at === -1 ? '' : text.slice(Math.max(0, at - 200), at + 100);
        expect({ where, secret, found }).toEqual({ where, secret, found: '' });
      }
  });
});
