import type { ServerUsage } from '../gateway/serving-process.ts'

/** What a server held after so many requests, with all clients gone. */
export interface LeakSample extends ServerUsage {
  readonly requests: number
}

/** Code that was compiled, caches that are filled: none of it grows with the number of requests. */
const HEAP_SLACK_BYTES = 12 * 1024 * 1024
const HEAP_BYTES_PER_REQUEST = 40
/** Memory that V8 keeps for itself comes and goes. */
const RSS_SLACK_BYTES = 200 * 1024 * 1024
const RSS_BYTES_PER_REQUEST = 400
/** Connections of the last moments, files of the store. */
const HANDLES_SLACK = 12
const LEAST_SAMPLES = 3

/** What grew between the first look (the server is warm by then) and the last; none of it while there are too few. */
export function judgeLeak(samples: readonly LeakSample[]): readonly string[] {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined || samples.length < LEAST_SAMPLES) return []
  const requests = last.requests - first.requests
  const figures = [
    ['heap', first.heapBytes, last.heapBytes, HEAP_SLACK_BYTES + requests * HEAP_BYTES_PER_REQUEST],
    [
      'resident memory',
      first.rssBytes,
      last.rssBytes,
      RSS_SLACK_BYTES + requests * RSS_BYTES_PER_REQUEST,
    ],
    ['open files', first.openFiles, last.openFiles, HANDLES_SLACK],
    ['active resources', count(first), count(last), HANDLES_SLACK],
  ] as const
  return figures
    .filter(([, before, after, allowed]) => after - before > allowed)
    .map(([what, before, after, allowed]) => {
      return `${what} grew from ${before} to ${after} over ${requests} requests; allowed are ${allowed} more`
    })
}

function count({ resources }: LeakSample): number {
  return Object.values(resources).reduce((sum, number) => sum + number, 0)
}
