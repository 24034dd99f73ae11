/**
 * Start and shutdown state of a server. While `starting`, `/readyz` fails: the admin port is not open yet. Once `announced`, `/readyz` fails, so that load balancers stop sending requests, and
 * every answer closes its connection, so that clients have left before the listener closes. While `closing`, no client
 * is made to wait.
 */
export class Drain {
  starting = false;
  announced = false;
  closing = false;
}
