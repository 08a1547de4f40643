import { errorCode, type ChangeFeedSource, type DocumentBody } from '@tidemark/contracts'

/** What feeds answer that have no log of all versions. */
const NO_LOG: ReadonlySet<string | undefined> = new Set([
  'ERR_ALL_VERSIONS_OFF',
  'ERR_INVALID_OPTION',
  'ERR_SERVER_UNSUPPORTED',
])

/** Whether the source can be read in all-versions mode. Any feed can be asked: by reading a page from now on. */
export async function keepsLog<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  signal?: AbortSignal,
): Promise<boolean> {
  return isAnswered(readLogNow(source, signal))
}

/** Whether the log can be read from the oldest version that it keeps. Azure's can be read from now on only. */
export async function hasPastOfLog<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
): Promise<boolean> {
  const [range] = await source.readFeedRanges()
  if (range === undefined) return false
  return isAnswered(source.resolveStart({ range, start: 'beginning', mode: 'allVersions' }))
}

async function isAnswered(question: Promise<unknown>): Promise<boolean> {
  try {
    await question
    return true
  } catch (error) {
    if (NO_LOG.has(errorCode(error))) return false
    throw error
  }
}

/** Rejects with what the feed answers to readers of all versions, such as ERR_ALL_VERSIONS_OFF. */
export async function readLogNow<T extends DocumentBody>(
  source: ChangeFeedSource<T>,
  signal?: AbortSignal,
): Promise<void> {
  const mode = 'allVersions'
  for (let attempt = 1; ; attempt += 1) {
    try {
      const [range] = await source.readFeedRanges({ signal })
      if (range === undefined) return
      const { continuation } = await source.resolveStart({ range, start: 'now', mode, signal })
      await source.readPage({ range, continuation, mode, maxItemCount: 1, signal })
      return
    } catch (error) {
      // It was split or merged between two steps.
      if (errorCode(error) !== 'ERR_RANGE_GONE' || attempt >= MAX_ATTEMPTS) throw error
    }
  }
}

const MAX_ATTEMPTS = 10
