/**
 * A free port of 127.0.0.1, chosen at random below the ports of outgoing connections. Another process may still take it
 * before its use.
 */
export function freePort(): Promise<number>;
