import { InvalidArgumentError } from 'commander'
import { MAX_TTL_SECONDS } from '@tidemark/store'

/** Parses a `defaultTtl` for commander: seconds, -1 or `off`. */
export function defaultTtl(text: string): number | null {
  if (text === 'off') return null
  const value = Number(text)
  if (text === '-1' || (/^\d+$/.test(text) && value >= 1 && value <= MAX_TTL_SECONDS)) return value
  throw new InvalidArgumentError(
    `It must be a number of seconds from 1 to ${MAX_TTL_SECONDS}, -1 or off.`,
  )
}
