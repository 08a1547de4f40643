import { useRef } from 'preact/hooks'

const HUES = 12

/** The hue of a host, 0 to 11. */
export type Hues = (host: string) => number

/** A host keeps its hue while the page is open, whoever comes and goes. */
export function useHues(): Hues {
  const seen = useRef(new Map<string, number>())
  const hues = useRef((host: string): number => {
    const before = seen.current.get(host)
    if (before !== undefined) return before
    const next = seen.current.size % HUES
    seen.current.set(host, next)
    return next
  })
  return hues.current
}
