import { join } from 'node:path'
import { createRequire } from 'node:module'
import type { PeerEntry, RunningPeer } from '../../contract/peer.ts'
import { loadNaive, NaiveFeed, NaiveWriter } from './naive-feed.ts'

export interface NaivePlace {
  readonly file: string
  readonly group: string
  /** Where the group begins. */
  readonly after: number
  readonly synchronous: 'NORMAL' | 'FULL'
}

const { version } = createRequire(import.meta.url)('better-sqlite3/package.json') as {
  readonly version: string
}

/** NORMAL is better-sqlite3's default for WAL: positions are not synced, and a lost one costs repeats. */
export function naivePoll(name: string, synchronous: 'NORMAL' | 'FULL'): PeerEntry {
  return {
    name,
    isOurs: false,
    sharing: 'static',
    isEmbedded: true,
    worker: new URL('worker.ts', import.meta.url),
    start: ({ folder }) => Promise.resolve(start(folder, synchronous)),
  }
}

function start(folder: string, synchronous: 'NORMAL' | 'FULL'): RunningPeer {
  const file = join(folder, 'naive.db')
  const feed = new NaiveFeed(file, { synchronous: 'FULL' })
  const writer = new NaiveWriter(feed)
  let groups = 0
  return {
    version: `better-sqlite3 ${version}, positions with synchronous = ${synchronous}`,
    serverPids: [],
    load: (count) => loadNaive(feed, count),
    newGroup({ begin }): Promise<NaivePlace> {
      const after = begin === 'beginning' ? 0 : feed.newest
      return Promise.resolve({ file, group: `group-${++groups}`, after, synchronous })
    },
    write: (index) => writer.write(index),
    [Symbol.asyncDispose]() {
      feed[Symbol.dispose]()
      return Promise.resolve()
    },
  }
}
