import { once } from 'node:events';
import { Socket } from 'node:net';
import { type ConnectionWatcher, unwatchConnection, watchConnection } from './connection.js';

function noting(): { watcher: ConnectionWatcher; events: string[] } {
  const events: string[] = [];
  return {
    events,
    watcher: { connectionClosed: () => events.push('closed'), waitEnds: () => events.push('wait ends') },
  };
}

describe('the watcher of a connection', () => {
  it('is notified once when the connection closes, and not notified if it was removed', async () => {
    const socket = new Socket();
    const [one, other] = [noting(), noting()];
    watchConnection(socket, other.watcher);
    watchConnection(socket, one.watcher);
    unwatchConnection(socket, other.watcher);
    socket.destroy();
    await once(socket, 'close');

    expect([one.events, other.events]).toEqual([['closed'], []]);
  });

  it('is notified if the connection closed before the watcher was added', async () => {
    const socket = new Socket();
    socket.destroy();
    await once(socket, 'close');
    const { watcher, events } = noting();
    watchConnection(socket, watcher);
    await Promise.resolve();

    expect(events).toEqual(['closed']);
  });

  it('is notified once if it was added between the destruction of the connection and its close event', async () => {
    const socket = new Socket();
    socket.destroy();
    const { watcher, events } = noting();
    watchConnection(socket, watcher);
    await once(socket, 'close');
    await Promise.resolve();

    expect(events.filter((what) => what === 'closed')).toEqual(['closed']);
  });
});
