import { signal, type Signal } from '@preact/signals'
import type { VNode } from 'preact'

const said: Signal<string> = signal('')

/** Said by screen readers, and shown nowhere else. */
export function announce(text: string): void {
  said.value = text
}

export function Announcements(): VNode {
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {said}
    </div>
  )
}
