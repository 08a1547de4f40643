/** What a text of a size cost the server. */
export interface GrowthSample {
  readonly chars: number
  /** Of the processor, in all. */
  readonly processorMs: number
  /** The most between two turns of the event loop. */
  readonly stretchMs: number
}

/** One request never holds the loop for longer. */
const MOST_STRETCH_MS = 50
/** Twice the text takes twice the time; a quadratic reader takes four times. */
const MOST_GROWTH = 3
/** What collecting garbage and compiling take now and then. */
const NOISE_MS = 10

/** What is wrong with samples of one entry and one unit, by size; undefined when nothing is. */
export function growthFault(samples: readonly GrowthSample[]): string | undefined {
  const held = samples.find(({ stretchMs }) => stretchMs > MOST_STRETCH_MS)
  if (held !== undefined) {
    return `${held.chars} characters hold the loop for ${held.stretchMs.toFixed(0)} ms`
  }
  const grown = samples.findIndex(({ chars, processorMs }, at) => {
    const half = samples.slice(0, at).findLast((other) => other.chars * 2 === chars)
    return half !== undefined && processorMs > half.processorMs * MOST_GROWTH + NOISE_MS
  })
  if (grown === -1) return undefined
  const [half, whole] = [samples[grown - 1]!, samples[grown]!]
  return `${half.chars} characters take ${half.processorMs.toFixed(1)} ms, ${whole.chars} take ${whole.processorMs.toFixed(1)} ms`
}
