import type { DocumentBody } from '@tidemark/contracts'

/**
 * Makes the target's document of a source document, or undefined to leave it out. It is called again for
 * the same version after a crash and by `verifyMigration`, and must say the same each time.
 */
export type MapDocument<S extends DocumentBody, T extends DocumentBody> = (
  document: S,
) => T | undefined | Promise<T | undefined>
