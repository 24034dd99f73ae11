import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/** Takes requests past the router. */
export interface Lane {
  /** @returns false if it leaves the request to the router, untouched */
  take(request: IncomingMessage, response: ServerResponse): boolean;
}

/** Has a lane asked first about every request of a server; what it declines goes where it went before. */
export function openLane(server: Server, lane: Lane): void {
  const routers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (lane.take(request, response)) return;
    for (const route of routers) route(request, response);
  });
}
