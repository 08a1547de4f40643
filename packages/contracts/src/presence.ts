/**
 * How processes of one machine that share a store know for certain that another of them has died (LE-16). It never tells that
 * a process lives.
 */
export interface Presence {
  /**
   * Announces this process, until `close` or its death. Undefined where a death would not show for certain. Never rejects.
   */
  announce(): Promise<AnnouncedPresence | undefined>
}

/** This process, as others can watch it. */
export interface AnnouncedPresence {
  /**
   * What others watch it by. Never used twice. Only ids with the same text before the first slash can see one another.
   */
  readonly id: string
  /**
   * Calls back once, when the process that announced `id` is certainly dead: never while it lives, runs or not, and never after
   * it has closed. It may never call back. Returns how to stop watching.
   */
  watch(id: string, onGone: () => void): () => void
  /** Stops watching. From now on a death of this process shows to nobody. Idempotent, never rejects. */
  close(): Promise<void>
}
