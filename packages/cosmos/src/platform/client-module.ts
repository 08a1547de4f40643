import { createRequire } from 'node:module'
import * as imported from '@azure/cosmos'
import { InvalidOptionError } from '@tidemark/contracts'

/** What is used of the client's module, beside containers. */
export type ClientModule = Pick<typeof imported, 'ChangeFeedStartFrom' | 'ChangeFeedMode'>

/**
 * The module that made a container. Its iterators take start positions of their own classes only, and a program that loads
 * the client by `require` has other classes than one that imports it.
 *
 * @throws ERR_INVALID_OPTION when it is of another copy of the client
 */
export function moduleOf(container: object): ClientModule {
  if (container instanceof imported.Container) return imported
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same module, built for `require`
  const required = createRequire(import.meta.url)('@azure/cosmos') as typeof imported
  if (container instanceof required.Container) return required
  throw new InvalidOptionError(
    'container must be a Container of the @azure/cosmos that @tidemark/cosmos finds; this one is of another copy of it: ' +
      '`npm ls @azure/cosmos` shows them',
  )
}
