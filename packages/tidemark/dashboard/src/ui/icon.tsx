import type { VNode } from 'preact'

/** Shapes that differ without their colours. 16 × 16, filled unless they begin with `-`. */
const SHAPES = {
  dot: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z',
  ring: '-M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z',
  dashed:
    '-M8 2.5a5.5 5.5 0 0 1 4 1.7M13.5 8a5.5 5.5 0 0 1-2 4.2M8 13.5a5.5 5.5 0 0 1-4-1.7M2.5 8a5.5 5.5 0 0 1 2-4.2',
  warning: 'M8 1.5 15.5 14.5H.5ZM7.2 6v4.2h1.6V6ZM7.2 11.3v1.6h1.6v-1.6Z',
  cross: '-M3.5 3.5l9 9M12.5 3.5l-9 9',
  stop: 'M5 1.5h6L14.5 5v6L11 14.5H5L1.5 11V5ZM5 7v2h6V7Z',
  pause: 'M4 3h3v10H4ZM9 3h3v10H9Z',
  play: 'M4 2.5 13 8 4 13.5Z',
  move: '-M2 8h11M9 4l4 4-4 4',
  split: '-M2 8h4l6-4.5M6 8l6 4.5',
  join: '-M14 8h-4L4 3.5M10 8l-6 4.5',
  moon: 'M6 2a6 6 0 1 0 8 8A6.5 6.5 0 0 1 6 2Z',
  sun: '-M8 5.2a2.8 2.8 0 1 1 0 5.6a2.8 2.8 0 0 1 0-5.6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M13 3l-1.1 1.1M4.1 11.9 3 13',
  auto: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2ZM8 3.5v9a4.5 4.5 0 0 0 0-9Z',
  lock: 'M5 7V5a3 3 0 0 1 6 0v2h1v7H4V7ZM6.5 7h3V5a1.5 1.5 0 0 0-3 0Z',
  check: '-M3 8.5l3.5 3.5L13 4.5',
} as const
export type IconName = keyof typeof SHAPES

export function Icon({ name }: { readonly name: IconName }): VNode {
  const shape = SHAPES[name]
  const isLine = shape.startsWith('-')
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path
        d={isLine ? shape.slice(1) : shape}
        fill={isLine ? 'none' : 'currentColor'}
        fill-rule="evenodd"
        stroke={isLine ? 'currentColor' : 'none'}
        stroke-width="1.8"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
