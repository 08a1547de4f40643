import type { VNode } from 'preact'
import type { TransitionKind } from '../../../src/dashboard/views.ts'

interface TransitionLook {
  readonly text: string
  /** Path around 0, 0, from -5 to 5. */
  readonly shape: string
  readonly isBad: boolean
}

const TRIANGLE = 'M0-5 5 4H-5Z'
const DIAMOND = 'M0-5 5 0 0 5-5 0Z'
const SQUARE = 'M-4-4H4V4H-4Z'
const CROSS = 'M-4.5-2-2-4.5 0-2.2 2-4.5 4.5-2 2.2 0 4.5 2 2 4.5 0 2.2-2 4.5-4.5 2-2.2 0Z'
const TICK = 'M-1.5-6H1.500V6H-1.500Z'

export const TRANSITIONS: Readonly<Record<TransitionKind, TransitionLook>> = {
  acquired: { text: 'acquired', shape: TICK, isBad: false },
  released: { text: 'released', shape: 'M-4-5 4 0-4 5Z', isBad: false },
  handedOver: { text: 'handed over', shape: 'M-5-4 5 0-5 4-2 0Z', isBad: false },
  takenOver: { text: 'taken over', shape: TRIANGLE, isBad: true },
  split: { text: 'split', shape: DIAMOND, isBad: false },
  joined: { text: 'joined', shape: SQUARE, isBad: false },
  fenced: { text: 'fenced', shape: CROSS, isBad: true },
  moved: { text: 'moved by seek', shape: 'M0-5 2 0 0 5-5 0Z', isBad: false },
  paused: { text: 'paused', shape: 'M-4-5H-1V5H-4ZM1-5H4V5H1Z', isBad: false },
  resumed: { text: 'resumed', shape: 'M-3-5 5 0-3 5Z', isBad: false },
  other: { text: 'other', shape: TICK, isBad: false },
}

/** Where a bar begins, its range was acquired. */
export function isMarked(kind: TransitionKind): boolean {
  return kind !== 'acquired'
}

const IN_LEGEND: readonly TransitionKind[] = [
  'handedOver',
  'takenOver',
  'split',
  'joined',
  'fenced',
  'released',
  'moved',
]

export function transitionShape(kind: TransitionKind): VNode {
  const { shape, isBad } = TRANSITIONS[kind]
  return <path class={`event ${isBad ? 'bad' : ''}`} d={shape} />
}

export function TransitionMark({ kind }: { readonly kind: TransitionKind }): VNode {
  return (
    <svg class="icon timeline-mark" viewBox="-7 -7 14 14" aria-hidden="true">
      {transitionShape(kind)}
    </svg>
  )
}

export function TransitionLegend(): VNode {
  return (
    <ul class="legend" aria-label="Marks">
      {IN_LEGEND.map((kind) => (
        <li key={kind}>
          <TransitionMark kind={kind} />
          {TRANSITIONS[kind].text}
        </li>
      ))}
    </ul>
  )
}
