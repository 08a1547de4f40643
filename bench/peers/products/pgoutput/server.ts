import type { Outbox } from '../outbox.ts'
import type { PeerEntry } from '../../contract/peer.ts'
import { startOutbox, type PostgresPlace } from '../skip-locked/server.ts'

export interface PgoutputPlace extends PostgresPlace {
  readonly slot: string
}

/** Inserts into a table, streamed from the write-ahead log to the one consumer of a slot. */
export const pgoutput: PeerEntry = {
  name: 'pgoutput',
  isOurs: false,
  sharing: 'standby',
  parts: 1,
  isEmbedded: false,
  worker: new URL('worker.ts', import.meta.url),
  start({ takeoverMs }) {
    let groups = 0
    let slot: string | undefined
    const next = async (outbox: Outbox): Promise<string> => {
      if (slot !== undefined) await outbox.dropSlot(slot)
      slot = `group_${++groups}`
      return slot
    }
    return startOutbox(
      { wal_level: 'logical', wal_sender_timeout: `${takeoverMs}ms` },
      {
        name: 'logical decoding (pgoutput)',
        async fill(outbox, url): Promise<PgoutputPlace> {
          const made = await next(outbox)
          await outbox.fill(made)
          return { url, slot: made }
        },
        async empty(outbox, url) {
          const made = await next(outbox)
          await outbox.clear(made)
          return { url, slot: made }
        },
      },
    )
  },
}
