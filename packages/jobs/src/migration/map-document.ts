import type { DocumentBody } from '@tidemark/contracts'

/**
 * Returns the target's document for a source document, or undefined to leave it out. It is called again for the same
 * version after a crash and by `verifyMigration`, and must always return the same.
 */
export type MapDocument<S extends DocumentBody, T extends DocumentBody> = (
  document: S,
) => T | undefined | Promise<T | undefined>
