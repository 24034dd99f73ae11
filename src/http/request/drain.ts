/**
 * Shutdown state of a server. Once `announced`, `/readyz` fails, so that load balancers stop sending requests, and
 * every answer closes its connection, so that clients have left before the listener closes. While `closing`, no client
 * is made to wait.
 */
export class Drain {
  announced = false;
  closing = false;
}
