/**
 * How far a server is on its way out. Once `announced`, `/readyz` says no, so that load balancers look elsewhere, and every answer ends
 * its connection, so that clients have left before the listener closes; while `closing`, nobody is made to wait.
 */
export class Drain {
  announced = false;
  closing = false;
}
