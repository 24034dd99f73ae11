import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { AddressRules } from '../../src/push/send/address-rules.js';
import { Names } from '../../src/push/send/names.js';
import { type PushAnswer, type PushRequest, Sender } from '../../src/push/send/sender.js';
import type { SendError } from '../../src/push/send/send-error.js';
import { type Behaviour, type DnsAnswers, HostileServer, TestDns } from '../support/hostile-server.js';
import { OwnTime } from '../support/own-time.js';
import { waitFor } from '../support/redis.js';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const answer =
  (text: string | Buffer): Behaviour =>
  (socket) =>
    socket.write(text);

/** Writes again and again until the socket is gone. */
const forever =
  (head: string, piece: string | Buffer, everyMs: number): Behaviour =>
  (socket) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(piece), everyMs);
    socket.once('close', () => clearInterval(timer));
  };

/** Answers the first request of a connection; the next one gets `then`. */
const onceThen = (then: Behaviour, first = OK): Behaviour => {
  const used = new WeakSet<Socket>();
  return (socket) => {
    if (used.has(socket)) then(socket);
    else socket.write(first);
    used.add(socket);
  };
};

describe('the sender of push', () => {
  let server: HostileServer;
  let sender: Sender;
  let dns: TestDns;
  let addresses: DnsAnswers = () => [];

  beforeAll(async () => {
    dns = await TestDns.start((name, type) => addresses(name, type));
    server = await HostileServer.start(answer(OK));
  });
  afterAll(async () => {
    dns.stop();
    await server.stop();
  });
  afterEach(() => sender.close());

  function senderFor(
    allow: readonly string[] = ['127.0.0.1'],
    isPortAllowed: (port: number) => boolean = () => true,
    maxPerOrigin = 4,
    isHttpAllowed = true,
  ): Sender {
    const names = new Names([dns.address]);
    const rules = { addresses: new AddressRules(allow), isPortAllowed, isHttpAllowed, names };
    sender = new Sender(rules, { maxPerOrigin });
    return sender;
  }

  function send(host: string, more: Partial<PushRequest> = {}): Promise<PushAnswer> {
    return sender.send({
      url: new URL(`http://${host}:${String(server.port)}/hook`),
      ...{ method: 'POST', headers: { 'content-type': 'text/plain' }, body: Buffer.from('hello') },
      ...{ timeoutMs: 2_000, maxAnswerBytes: 1_024, signal: new AbortController().signal },
      ...more,
    });
  }

  const problemOf = async (sending: Promise<unknown>): Promise<string> =>
    sending.then(
      () => 'none',
      (error: unknown) => (error as SendError).problem,
    );

  it('sends a request, and reads the answer', async () => {
    server.becomes(answer(OK));
    senderFor();
    const { status, body, isWhole, headers } = await send('127.0.0.1');

    expect([status, body.toString(), isWhole, headers.get('content-length')]).toEqual([200, 'ok', true, '2']);
    expect(server.requests.at(-1)).toMatch(/^POST \/hook HTTP\/1\.1\r\n/);
  });

  it('sends five requests on one connection', async () => {
    server.becomes(answer(OK));
    senderFor();
    const before = server.connections;
    for (let i = 0; i < 5; i++) await send('127.0.0.1');

    expect(server.connections - before).toBe(1);
  });

  describe('addresses of push', () => {
    it.each([
      '127.0.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.1',
      '0177.0.0.1',
      '127.1',
      '[::ffff:127.0.0.1]',
      '[::1]',
      '[::7f00:1]',
      '0',
      '[64:ff9b::7f00:1]',
      '１２７.0.0.1',
      '127.0.0.1.',
    ])('are refused in the spelling %s of this machine, without a connection', async (host) => {
      server.becomes(answer(OK));
      senderFor([]);
      const before = server.connections;

      expect(await problemOf(send(host))).toBe('blocked');
      expect(server.connections).toBe(before);
    });

    it('are refused for a name that leads to this machine', async () => {
      addresses = (_name, type) => (type === 'A' ? ['127.0.0.1'] : []);
      senderFor([]);

      expect(await problemOf(send('inside.example'))).toBe('blocked');
    });

    it('are refused for a name with allowed addresses and one that is not allowed', async () => {
      addresses = (_name, type) => (type === 'A' ? ['93.184.216.34', '127.0.0.1'] : []);
      senderFor([]);

      expect(await problemOf(send('both.example'))).toBe('blocked');
    });

    it('are refused for a name with an IPv6 address that is not allowed', async () => {
      addresses = (_name, type) => (type === 'A' ? ['127.0.0.1'] : ['64:ff9b::a9fe:a9fe']);
      senderFor();

      expect(await problemOf(send('six.example'))).toBe('blocked');
    });

    it('are not in the error for a refused name', async () => {
      addresses = (_name, type) => (type === 'A' ? ['10.11.12.13'] : []);
      senderFor([]);

      await expect(send('secret.example')).rejects.toThrow(/^secret\.example is no public address/);
    });

    it('are looked up once for the check and the connection, so that the resolver cannot change its answer', async () => {
      let lookups = 0;
      server.becomes(answer(OK));
      addresses = (_name, type) => {
        if (type === 'AAAA') return [];
        lookups += 1;
        return lookups === 1 ? ['127.0.0.1'] : ['169.254.169.254'];
      };
      senderFor();

      expect((await send('changes.example')).status).toBe(200);
      expect(lookups).toBe(1);
    });

    it('are checked again for a new connection', async () => {
      let address = '127.0.0.1';
      addresses = (_name, type) => (type === 'A' ? [address] : []);
      server.becomes((socket) =>
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'),
      );
      senderFor();
      expect((await send('again.example')).status).toBe(200);

      address = '10.0.0.1';
      await new Promise((resolve) => setTimeout(resolve, 1_100));

      expect(await problemOf(send('again.example'))).toBe('blocked');
    });

    it('are resolved once for many requests at a time', async () => {
      addresses = (_name, type) => (type === 'A' ? ['127.0.0.1'] : []);
      server.becomes(answer(OK));
      senderFor();
      const before = dns.queries;
      await Promise.all(Array.from({ length: 8 }, () => send('shared.example')));

      expect(dns.queries - before).toBe(2);
    });

    it('are reported as missing for a name without an address', async () => {
      addresses = () => [];
      senderFor();

      expect(await problemOf(send('nowhere.example'))).toBe('dns');
    });

    it('are awaited until the deadline of the request if the resolver never answers', async () => {
      addresses = () => null;
      senderFor();
      const time = new OwnTime();

      expect(await problemOf(send('silent.example', { timeoutMs: 300 }))).toBe('timeout');
      // The resolver itself gives up after 4 s.
      expect(time.end()).toBeLessThan(2_000);
    });

    it('are refused with a port that is not allowed', async () => {
      senderFor(['127.0.0.1'], (port) => port === 443);

      expect(await problemOf(send('127.0.0.1'))).toBe('blocked');
    });
  });

  it('sends nothing in plain text unless the server allows that, but may use TLS', async () => {
    senderFor(['127.0.0.1'], () => true, 4, false);
    const before = server.connections;

    expect(await problemOf(send('127.0.0.1'))).toBe('blocked');
    expect(server.connections - before).toBe(0);
    const url = new URL(`https://127.0.0.1:${String(server.port)}/`);
    expect(await problemOf(send('127.0.0.1', { url }))).not.toBe('blocked');
    expect(server.connections - before).toBe(1);
  });

  describe('a hostile server', () => {
    beforeEach(() => senderFor());

    it('is not followed to a redirect', async () => {
      server.becomes(
        answer(
          `HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:${String(server.port)}/other\r\nContent-Length: 0\r\n\r\n`,
        ),
      );
      const before = server.requests.length;

      expect((await send('127.0.0.1')).status).toBe(302);
      expect(server.requests.length - before).toBe(1);
    });

    it.each<[string, Behaviour, string]>([
      ['says nothing', () => undefined, 'timeout'],
      ['sends its headers byte by byte', forever('HTTP/1.1 200 OK\r\nX-Slow: ', 'a', 20), 'timeout'],
      ['sends interim answers for ever', forever('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 1), 'protocol'],
      ['sends interim answers slowly', forever('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 100), 'timeout'],
      [
        'sends headers for ever',
        forever('HTTP/1.1 200 OK\r\n', `X-A: ${'a'.repeat(4_000)}\r\n`, 1),
        'protocol',
      ],
      ['speaks something else', answer('SSH-2.0-OpenSSH_9.2\r\n'), 'protocol'],
      ['resets the connection', (socket) => socket.resetAndDestroy(), 'connect'],
      ['closes the connection', (socket) => socket.end(), 'connect'],
      ['says 100 for ever', forever('', 'HTTP/1.1 100 Continue\r\n\r\n', 1), 'protocol'],
      ['says 100 and no more', answer('HTTP/1.1 100 Continue\r\n\r\n'), 'timeout'],
      ['says 100 and closes', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n'), 'connect'],
      [
        'switches the protocol',
        answer('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
        'protocol',
      ],
      [
        'sends a chunk of no length',
        answer('HTTP/1.1 2000 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n'),
        'protocol',
      ],
    ])('fails the request if it %s', async (_what, behaviour, problem) => {
      server.becomes(behaviour);
      const time = new OwnTime();

      expect(await problemOf(send('127.0.0.1', { timeoutMs: 500 }))).toBe(problem);
      expect(time.end()).toBeLessThan(2_000);
      await waitFor(() => server.open === 0);
    });

    it('fails the request at the deadline if it never starts TLS', async () => {
      // A server of its own: the connection is not closed at once.
      const silent = await HostileServer.start(() => undefined);
      const url = new URL(`https://127.0.0.1:${String(silent.port)}/`);
      const time = new OwnTime();

      expect(await problemOf(send('127.0.0.1', { url, timeoutMs: 300 }))).toBe('timeout');
      // The limit of a connection alone is 10 s.
      expect(time.end()).toBeLessThan(2_000);
      await silent.stop();
    });

    it('has a partial answer if its body is not complete at the deadline', async () => {
      server.becomes(forever('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n', 'a', 20));
      const { status, isWhole, bodyError } = await send('127.0.0.1', { timeoutMs: 500 });

      expect([status, isWhole, bodyError?.problem]).toEqual([200, false, 'timeout']);
      await waitFor(() => server.open === 0);
    });

    it('is cut off after the bytes that are kept if it sends an endless body', async () => {
      server.becomes(
        forever(
          'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
          '3e8\r\n' + 'a'.repeat(1_000) + '\r\n',
          1,
        ),
      );
      const { status, body, isWhole, bodyError } = await send('127.0.0.1');

      expect([status, body.length, isWhole, bodyError]).toEqual([200, 1_024, false, null]);
      await waitFor(() => server.open === 0);
    });

    it('has a partial answer if it resets the connection within the body', async () => {
      server.becomes((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nabc', () => {
          setTimeout(() => socket.resetAndDestroy(), 50);
        });
      });
      const { status, isWhole, bodyError } = await send('127.0.0.1');

      expect([status, isWhole, bodyError?.problem]).toEqual([200, false, 'connect']);
    });

    it('has its gzip bomb not unpacked', async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      server.becomes((socket) => {
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${String(bomb.length)}\r\n\r\n`,
        );
        socket.write(bomb);
      });
      const { body, isWhole } = await send('127.0.0.1', { maxAnswerBytes: 100_000 });

      expect(isWhole).toBe(true);
      expect(body.equals(bomb)).toBe(true);
    });

    it('does not delay the deadline of a waiting request if it holds all connections', async () => {
      server.becomes((socket) => void setTimeout(() => socket.write(OK), 600));
      senderFor();
      const slow = Array.from({ length: 4 }, () => send('127.0.0.1'));
      const before = server.requests.length;
      const late = problemOf(send('127.0.0.1', { timeoutMs: 200, body: Buffer.from('late') }));
      const left = new AbortController();
      const cut = problemOf(send('127.0.0.1', { signal: left.signal }));
      left.abort();

      expect([await cut, await late]).toEqual(['aborted', 'timeout']);
      expect((await Promise.all(slow)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      // Both had an error: neither is sent after it.
      expect((await send('127.0.0.1')).status).toBe(200);
      expect(server.requests.slice(before).filter((text) => text.includes('late'))).toEqual([]);
    });

    it('is left at once when the caller aborts the request', async () => {
      server.becomes(() => undefined);
      const leaving = new AbortController();
      const sending = problemOf(send('127.0.0.1', { signal: leaving.signal }));
      setTimeout(() => leaving.abort(), 50);

      expect(await sending).toBe('aborted');
    });
  });

  describe('interim answers', () => {
    beforeEach(() => senderFor());

    it.each([
      ['100', 'HTTP/1.1 100 Continue\r\n\r\n'],
      ['100 with headers', 'HTTP/1.1 100 Continue\r\nX-A: b\r\nContent-Length: 0\r\n\r\n'],
      ['three times 100', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3)],
      ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
      ['103 with a link', 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'],
      ['199', 'HTTP/1.1 199 Odd\r\n\r\n'],
      ['100 and 103', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'],
    ])('are not the answer: %s', async (_what, interim) => {
      server.becomes(answer(interim + OK));
      const before = [server.requests.length, server.connections];
      const answers = [await send('127.0.0.1')];
      server.becomes((socket) => {
        socket.write(interim);
        setTimeout(() => socket.write(OK), 50);
      });
      answers.push(await send('127.0.0.1'));

      expect(answers.map(({ status, body }) => [status, body.toString()])).toEqual([
        [200, 'ok'],
        [200, 'ok'],
      ]);
      // The connection is still good.
      expect([server.requests.length, server.connections]).toEqual([before[0]! + 2, before[1]! + 1]);
    });
  });

  describe('a kept connection', () => {
    const closings: [string, Behaviour][] = [
      ['closed', (socket) => socket.end()],
      ['reset', (socket) => socket.resetAndDestroy()],
    ];
    let before = 0;
    beforeEach(() => senderFor());

    /** One request, over a connection that is kept. Then those of the server are counted. */
    async function keepOne(behaviour: Behaviour): Promise<void> {
      server.becomes(behaviour);
      await send('127.0.0.1');
      before = server.requests.length;
    }

    it.each(closings)(
      'has the request sent again on another connection if it is %s before the answer',
      async (_how, close) => {
        await keepOne(onceThen(close));

        expect((await send('127.0.0.1')).status).toBe(200);
        expect(server.requests.length - before).toBe(2);
      },
    );

    it.each(closings)(
      'has the request answered on another connection if it is %s while a large body is sent',
      async (_how, close) => {
        await keepOne(onceThen(close));
        const sending = send('127.0.0.1', { body: Buffer.alloc(4_000_000, 'x') });
        const { status } = await sending;

        expect(status).toBe(200);
      },
    );

    it.each(closings)(
      'fails the request after two sends if it is %s, and the new connection is, too',
      async (_how, close) => {
        await keepOne(onceThen(close));
        server.becomes(close);

        expect(await problemOf(send('127.0.0.1'))).toBe('connect');
        expect(server.requests.length - before).toBe(2);
      },
    );

    it('has the second send on a new connection if it is closed, not on another kept connection', async () => {
      // Two connections at a time, both good for one request each.
      const held: Socket[] = [];
      const closing = onceThen((socket) => socket.end(), '');
      server.becomes((socket) => {
        closing(socket);
        if (held.push(socket) === 2) for (const one of held) one.write(OK);
      });
      await Promise.all([send('127.0.0.1'), send('127.0.0.1')]);
      before = server.requests.length;
      const connections = server.connections;
      const next = onceThen((socket) => socket.end());
      server.becomes((socket) => (held.includes(socket) ? socket.end() : next(socket)));

      expect((await send('127.0.0.1')).status).toBe(200);
      expect([server.requests.length - before, server.connections - connections]).toEqual([2, 1]);
    });

    it('fails the request if it is closed, and then the next connection is closed', async () => {
      sender.close();
      senderFor(['127.0.0.1'], () => true, 1);
      await keepOne(onceThen((socket) => socket.end()));
      // The second request gets the new connection first; the first one follows over it, and finds it closed.
      const sendings = [send('127.0.0.1', { body: Buffer.from('first') }), send('127.0.0.1')];

      expect(await problemOf(sendings[0]!)).toBe('connect');
      expect((await sendings[1]!).status).toBe(200);
      expect(server.requests.slice(before).filter((text) => text.includes('first'))).toHaveLength(2);
    });

    it.each<[string, Behaviour, string]>([
      ['closed after a byte of the answer', (socket) => socket.end('H'), 'connect'],
      ['closed after an interim answer', (socket) => socket.end('HTTP/1.1 100 Continue\r\n\r\n'), 'connect'],
      ['silent', () => undefined, 'timeout'],
      ['closed after a word of something else', (socket) => socket.end('SSH-2.0\r\n'), 'protocol'],
    ])('has the request not sent again if it is %s', async (_how, behaviour, problem) => {
      await keepOne(onceThen(behaviour));

      expect(await problemOf(send('127.0.0.1', { timeoutMs: 300 }))).toBe(problem);
      expect(server.requests.length - before).toBe(1);
    });

    it('fails the request at its deadline, counted from the first send, if it is closed shortly before', async () => {
      await keepOne(onceThen((socket) => void setTimeout(() => socket.end(), 250)));
      const used = new WeakSet<Socket>();
      server.becomes((socket) => {
        if (used.has(socket)) return;
        used.add(socket);
        if (server.requests.length - before === 1) setTimeout(() => socket.end(), 250);
      });
      const time = new OwnTime();

      expect(await problemOf(send('127.0.0.1', { timeoutMs: 1_000 }))).toBe('timeout');
      expect(time.end()).toBeLessThan(1_900);
      expect(server.requests.length - before).toBe(2);
    });

    it('is not used again after unrequested bytes', async () => {
      const spoken: Socket[] = [];
      await keepOne((socket) => {
        socket.write(OK);
        setTimeout(() => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
          spoken.push(socket);
        }, 30);
      });
      await waitFor(() => spoken.length === 1);
      await new Promise((resolve) => spoken[0]?.once('close', resolve) && setTimeout(resolve, 1_000));
      const connections = server.connections;
      server.becomes(answer(OK));

      expect((await send('127.0.0.1')).body.toString()).toBe('ok');
      expect(server.connections).toBe(connections + 1);
    });

    it('is closed after two answers to one request', async () => {
      await keepOne(answer(OK + 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'));
      await waitFor(() => server.open === 0);
      server.becomes(answer(OK));

      expect((await send('127.0.0.1')).body.toString()).toBe('ok');
    });

    it('is closed if the answer arrived before the request was sent', async () => {
      const length = 32_000_000;
      before = server.requests.length;
      server.becomes((socket) => {
        if (server.requests.length > before + 1) return;
        socket.write(OK);
        socket.pause();
        setTimeout(() => socket.resume(), 200);
      });
      const { status } = await send('127.0.0.1', { body: Buffer.alloc(length) });
      await waitFor(() => server.open === 0);

      expect(status).toBe(200);
      const read = server.requests.slice(before).reduce((sum, { length: bytes }) => sum + bytes, 0);
      expect(read).toBeLessThan(length);
    });
  });

  it('sends no request again if a new connection is closed', async () => {
    senderFor();
    server.becomes((socket) => socket.end());
    const before = server.requests.length;

    expect(await problemOf(send('127.0.0.1'))).toBe('connect');
    expect(server.requests.length - before).toBe(1);
  });

  it('reports a refused connection', async () => {
    senderFor();
    const gone = await HostileServer.start(answer(OK));
    const { port } = gone;
    await gone.stop();

    expect(await problemOf(send('127.0.0.1', { url: new URL(`http://127.0.0.1:${String(port)}/`) }))).toBe(
      'connect',
    );
  });

  it('reports a server without TLS', async () => {
    senderFor();
    server.becomes(answer('HTTP/1.1 400 Bad Request\r\n\r\n'));

    expect(
      await problemOf(send('127.0.0.1', { url: new URL(`https://127.0.0.1:${String(server.port)}/`) })),
    ).toBe('tls');
  });

  it('uses no proxy of the environment', async () => {
    const proxy = await HostileServer.start(answer(OK));
    server.becomes(answer(OK));
    process.env['HTTP_PROXY'] = `http://127.0.0.1:${String(proxy.port)}`;
    process.env['http_proxy'] = process.env['HTTP_PROXY'];
    try {
      senderFor();
      expect((await send('127.0.0.1')).status).toBe(200);
      expect(proxy.connections).toBe(0);
    } finally {
      delete process.env['HTTP_PROXY'];
      delete process.env['http_proxy'];
      await proxy.stop();
    }
  });
});
