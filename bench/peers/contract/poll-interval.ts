/** How often those ask that cannot be told. */
export const POLL_MS = 100
