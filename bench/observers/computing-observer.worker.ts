import { pbkdf2Sync } from 'node:crypto'
import type { IChangeFeedObserver } from '@tidemark/contracts'
import type { OrderDocument } from '../data/order-document.ts'

/** The module of `threads.speedup`: an observer that derives a key of each document, in so many rounds. 0 = it does nothing. */
export function createObserver(rounds: number): IChangeFeedObserver<OrderDocument> {
  if (rounds === 0) return { processChanges: () => {} }
  return {
    processChanges(_context, changes) {
      for (const change of changes) {
        if (change.kind !== 'document') continue
        // Native code: what the compiler makes of a loop in JavaScript differed by the factor of three.
        pbkdf2Sync(JSON.stringify(change.document), change.id, rounds, 32, 'sha256')
      }
    },
  }
}
