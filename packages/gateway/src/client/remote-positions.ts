import { lsn, type GroupPosition, type GroupPositions } from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import { callExtension, callToWrite, notOurs } from './call-extension.ts'
import type { RemoteContainer } from './remote-container.ts'

/** Positions of processor groups, kept by our gateway beside the collection. */
export class RemotePositions implements GroupPositions {
  readonly #container: RemoteContainer

  constructor(container: RemoteContainer) {
    this.#container = container
  }

  async report(positions: readonly GroupPosition[]): Promise<void> {
    // The last report counts, so that the same one again changes nothing.
    await callToWrite(this.#container, { positions })
  }

  async read(group: string): Promise<readonly GroupPosition[]> {
    const value = await callExtension(this.#container, { call: 'readPositions', group })
    if (!Array.isArray(value)) throw notOurs('list of positions')
    return value.map(positionOfGroup)
  }
}

function positionOfGroup(value: unknown): GroupPosition {
  if (isJsonRecord(value) && isJsonRecord(value['range'])) {
    const { group, lsn: at } = value
    const { minInclusive, maxExclusive } = value['range']
    if (
      typeof group === 'string' &&
      typeof at === 'number' &&
      typeof minInclusive === 'string' &&
      typeof maxExclusive === 'string'
    ) {
      return { group, range: { minInclusive, maxExclusive }, lsn: lsn(at) }
    }
  }
  throw notOurs('position of a group')
}
