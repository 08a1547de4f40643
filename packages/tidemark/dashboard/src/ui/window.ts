import { useEffect, useLayoutEffect, useState } from 'preact/hooks'

export interface WindowOptions {
  readonly count: number
  readonly rowHeight: number
  /** How many of them the box has room for, before it was measured. */
  readonly maxRows: number
}

/** A reference to an element that scrolls or grows. */
export interface Box {
  readonly current: HTMLElement | null
}

export interface RowWindow {
  readonly first: number
  /** After the last one. */
  readonly end: number
}

const OVERSCAN = 4
/** A list that is not longer is shown as a whole. */
const SHORT = 40

/** Which rows of equal height a scrolled box shows, so that only those are drawn. */
export function useRowWindow(box: Box, { count, rowHeight, maxRows }: WindowOptions): RowWindow {
  const [place, setPlace] = useState({ top: 0, height: maxRows * rowHeight })
  const isShort = count <= SHORT
  useEffect(() => {
    const element = box.current
    if (element === null || isShort) return undefined
    const look = (): void => {
      // In steps of some rows: scrolling within them draws nothing.
      const step = rowHeight * 4
      const top = Math.floor(element.scrollTop / step) * step
      const height = element.clientHeight + step
      setPlace((now) => (now.top === top && now.height === height ? now : { top, height }))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    return () => element.removeEventListener('scroll', look)
  }, [isShort, rowHeight])
  if (isShort) return { first: 0, end: count }
  const first = Math.max(0, Math.floor(place.top / rowHeight) - OVERSCAN)
  const end = Math.ceil((place.top + place.height) / rowHeight) + OVERSCAN
  return { first: Math.min(first, Math.max(0, count - OVERSCAN)), end: Math.min(count, end) }
}

/** The width of an element in px, and later ones. */
export function useWidth(box: Box, before: number): number {
  const [width, setWidth] = useState(before)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    setWidth(element.clientWidth)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return width
}
