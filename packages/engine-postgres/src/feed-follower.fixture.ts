import type { Collection } from '@tidemark/store'
import type { Note } from './store-with-faults.fixture.ts'

export interface SeenNote {
  readonly id: string
  readonly lsn: number
}

/** A reader that follows a feed and keeps what it sees. */
export interface FeedFollower {
  readonly seen: readonly SeenNote[]
  readonly ids: () => readonly string[]
  /** Where it stands. */
  readonly continuation: () => string
  /** Resolves when it has ended; rejects when it had failed by itself. */
  stop(): Promise<void>
}

export function follow(
  notes: Collection<Note>,
  from: 'beginning' | { readonly continuation: string } = 'beginning',
): FeedFollower {
  const seen: SeenNote[] = []
  const end = new AbortController()
  let continuation = ''
  const run = async (): Promise<void> => {
    try {
      for await (const page of notes.changes({ from, signal: end.signal, maxItemCount: 20 })) {
        seen.push(...page.changes.map(({ id, lsn }) => ({ id, lsn })))
        ;({ continuation } = page)
      }
    } catch (error) {
      if (!end.signal.aborted) throw error
    }
  }
  const running = run()
  running.catch(() => {})
  return {
    seen,
    ids: () => seen.map(({ id }) => id),
    continuation: () => continuation,
    stop: async () => {
      end.abort()
      await running
    },
  }
}
